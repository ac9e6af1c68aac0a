import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { run, settingsOf } from '../../support/command.ts';
import { type ReceivedCall, type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { assertError, BOREALIS, type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { AURORA_ID, BOREALIS_ID, phoneOf, putAll } from '../../support/shops.ts';

const HOUR_MS = 3_600_000;
const contentOf = ({ json }: ReceivedCall): string => json.data.content;

onEachEngine('deliveries that a merchant manages', (engine) => {
  let receiver: Receiver;
  let deskbell: Deskbell;
  before(async () => {
    receiver = await startReceiver();
    deskbell = await startDeskbell(engine, { ...webhookEnv(receiver), CHANNEL_DAILY_LIMIT: '1' });
    deskbell.clock.stop();
  });
  after(async () => {
    await deskbell?.close();
    await receiver?.close();
  });

  let customers = 0;
  const newCustomer = () => phoneOf(++customers);
  const put = async (recipient: string, change: { mode?: 'campaign'; content?: string } = {}) => {
    const [id] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient, ...change }]);
    await deskbell.allSent();
    return id!;
  };
  /** A message that failed this long ago. */
  const putFailed = async (agoMs = 0, merchantId = AURORA_ID) => {
    const [id] = await putAll({ ...deskbell }, [
      { merchantId, recipient: newCustomer(), at: new Date(deskbell.clock.now().getTime() + HOUR_MS) },
    ]);
    await deskbell.database.run(
      `update deliveries set state = 'failed', attempts = 10, last_code = 'HTTP_404', updated_at = $2 where id = $1`,
      [id!, new Date(deskbell.clock.now().getTime() - agoMs).toISOString()],
    );
    return id!;
  };
  const send = async (path: string, body?: unknown, user = {}) => {
    const { email, password } = { email: undefined, password: undefined, ...user };
    const token = await deskbell.signIn(email, password);
    const reply = await deskbell.call('POST', `/api/v1/delivery${path}`, { token, body });
    await deskbell.allSent();
    return reply;
  };
  const stateOf = async (id: number) =>
    (await deskbell.database.one<{ state: string }>('select state from deliveries where id = $1', [id]))!
      .state;
  const statesOf = (ids: readonly number[]) => Promise.all(ids.map(stateOf));
  const command = (...args: string[]) =>
    run(['delivery', ...args], { env: { ...settingsOf(deskbell), ...webhookEnv(receiver) } });
  const hours = (n: number) => new Date(deskbell.clock.now().getTime() - n * HOUR_MS).toISOString();

  it('can be retried in bulk since a given time, without touching other merchants’', async () => {
    const foreign = await putFailed(0, BOREALIS_ID);
    const [old, recent, last] = [await putFailed(5 * HOUR_MS), await putFailed(HOUR_MS), await putFailed()];
    const before = receiver.received.length;
    const reply = await send('/retry', { state: 'failed', since: hours(2) });
    assert.deepEqual(
      [reply.status, reply.json],
      [200, { message: '2 messages are queued again.', count: 2, skipped: 0, more: false, after_id: last }],
    );
    assert.deepEqual(await statesOf([old, recent, last, foreign]), ['failed', 'sent', 'sent', 'failed']);
    assert.equal(receiver.received.length, before + 2);
    assert.equal((await send('/retry', { state: 'failed' })).json.count, 1);
    assert.deepEqual(await statesOf([old, foreign]), ['sent', 'failed']);
    await deskbell.database.run(`update deliveries set state = 'sent' where id = $1`, [foreign]);
  });

  it('can be cancelled, one or many, and a cancelled one can be retried', async () => {
    receiver.answer = (response) => response.writeHead(503).end();
    const recipient = newCustomer();
    const ids = [
      await put(recipient, { content: 'one' }),
      await put(recipient, { content: 'two' }),
      await put(recipient, { content: 'three' }),
    ] as const;
    receiver.answer = (response) => response.writeHead(204).end();
    const before = receiver.received.length;
    const one = await send(`/${ids[0]}/cancel`);
    assert.deepEqual([one.status, one.json], [200, { message: 'The message is cancelled.' }]);
    // The first of its queue; the others are sent in order.
    assert.deepEqual(await statesOf(ids), ['cancelled', 'sent', 'sent']);
    assert.deepEqual(receiver.received.slice(before).map(contentOf), ['two', 'three']);
    assert.equal((await send(`/${ids[0]}/retry`)).status, 200);
    assert.equal(await stateOf(ids[0]), 'sent');
    assert.equal(receiver.received.length, before + 3);

    const failed = [await putFailed(), await putFailed()];
    const many = await send('/cancel', { state: 'failed' });
    assert.deepEqual(
      [many.status, many.json],
      [200, { message: '2 messages are cancelled.', count: 2, skipped: 0, more: false, after_id: failed[1] }],
    );
    assert.deepEqual(await statesOf(failed), ['cancelled', 'cancelled']);
    assert.equal((await send('/retry', { state: 'cancelled', since: hours(0) })).json.count, 2);
    assert.deepEqual(await statesOf(failed), ['sent', 'sent']);
  });

  it('free their part of the daily limit when a campaign is cancelled', async () => {
    const { clock } = deskbell;
    await clock.advance(2 * 24 * 3600);
    receiver.answer = (response) => response.writeHead(503).end();
    const first = await put(newCustomer(), { mode: 'campaign' });
    const second = await put(newCustomer(), { mode: 'campaign' });
    assert.deepEqual(await statesOf([first, second]), ['queued', 'waiting']);
    receiver.answer = (response) => response.writeHead(204).end();
    assert.equal((await send(`/${first}/cancel`)).status, 200);
    assert.deepEqual(await statesOf([first, second]), ['cancelled', 'sent']);
    const limits = await deskbell.call('GET', '/api/v1/limits', { token: await deskbell.signIn() });
    assert.equal(limits.json.used, 1);
  });

  it('are refused with a named error if their state does not allow the change', async () => {
    const sent = await put(newCustomer());
    assertError(await send(`/${sent}/cancel`), 409, 'CONFLICT');
    assertError(await send(`/${sent}/retry`), 409, 'CONFLICT');
    receiver.answer = (response) => response.writeHead(503).end();
    const queued = await put(newCustomer());
    assertError(await send(`/${queued}/retry`), 409, 'CONFLICT');
    receiver.answer = (response) => response.writeHead(204).end();
    assert.equal((await send(`/${queued}/cancel`)).status, 200);
    assertError(await send(`/${queued}/cancel`), 409, 'CONFLICT');
    assert.deepEqual(await statesOf([sent, queued]), ['sent', 'cancelled']);
  });

  it('cannot be cancelled while they are being sent', async () => {
    let answer = () => {};
    const called = new Promise<void>((resolve) => {
      receiver.answer = (response) => {
        answer = () => response.writeHead(204).end();
        resolve();
      };
    });
    const [id] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: newCustomer() }]);
    await called;
    const token = await deskbell.signIn();
    const path = `/api/v1/delivery/${id}/cancel`;
    assertError(await deskbell.call('POST', path, { token }), 409, 'CONFLICT');
    answer();
    await deskbell.allSent();
    assert.equal(await stateOf(id!), 'sent');
    receiver.answer = (response) => response.writeHead(204).end();
  });

  it('are not found if they belong to another merchant', async () => {
    const failed = await putFailed();
    for (const path of [`/${failed}/cancel`, `/${failed}/retry`]) {
      assertError(await send(path, undefined, BOREALIS), 404, 'DELIVERY_NOT_FOUND');
    }
    for (const path of ['/retry', '/cancel']) {
      assert.equal((await send(path, { state: 'failed' }, BOREALIS)).json.count, 0);
    }
    assert.equal(await stateOf(failed), 'failed');
    assertError(await deskbell.call('POST', '/api/v1/delivery/retry'), 401, 'INVALID_TOKEN');
    await send('/cancel', { state: 'failed' });
  });

  it('are selected only by a valid state and a valid time', async () => {
    for (const [path, states] of [
      ['/retry', ['queued', 'waiting', 'sent', 'all', 7, null, undefined]],
      ['/cancel', ['sending', 'sent', 'delivered', 'cancelled', '', undefined]],
    ] as const) {
      for (const state of states) {
        assertError(await send(path, { state }), 422, 'VALIDATION_ERROR', 'state');
      }
      for (const since of ['yesterday', '', 7, {}, '2026-13-45']) {
        assertError(await send(path, { state: 'failed', since }), 422, 'VALIDATION_ERROR', 'since');
      }
    }
  });

  it('can be managed the same way on the command line', async () => {
    const [old, recent] = [await putFailed(5 * HOUR_MS), await putFailed()];
    const all = ['--merchant', '1', '--all', '--state', 'failed'];
    const retried = await command('retry', ...all, '--since', hours(2), '--json');
    assert.deepEqual([retried.code, retried.json], [0, { count: 1, skipped: 0 }], retried.stderr);
    await deskbell.allSent();
    assert.deepEqual(await statesOf([old, recent]), ['failed', 'sent']);
    const cancelled = await command('cancel', ...all);
    assert.deepEqual(
      [cancelled.code, cancelled.stdout.trim()],
      [0, '1 message cancelled.'],
      cancelled.stderr,
    );
    assert.equal(await stateOf(old), 'cancelled');

    const one = await command('retry', `${old}`, '--merchant', '1');
    assert.deepEqual([one.code, one.stdout.trim()], [0, `Delivery ${old} is queued again.`], one.stderr);
    await deskbell.allSent();
    assert.equal(await stateOf(old), 'sent');
    const late = await command('cancel', `${old}`, '--merchant', '1');
    assert.equal(late.code, 1);
    assert.match(late.stderr, new RegExp(`^Delivery ${old} is being sent, or was sent or cancelled`));
    const foreign = await command('cancel', `${old}`, '--merchant', '2');
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, new RegExp(`This merchant has no delivery ${old}\\.`));
    for (const wrong of [
      ['--all', '--state', 'sent'],
      ['--all', '--state', 'failed', '--since', 'yesterday'],
      ['--all'],
      ['--state', 'failed'],
      [],
    ]) {
      const refused = await command('retry', '--merchant', '1', ...wrong);
      assert.equal(refused.code, 2, `${wrong} ${refused.stdout}${refused.stderr}`);
    }
  });

  it('are changed 2,000 per call, and the response says that there are more', async () => {
    const { database, clock } = deskbell;
    const at = clock.now().toISOString();
    await database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 2060)
        insert into deliveries (merchant_id, key, notification_id, conversation_id, context, recipient, mode, content,
          state, due_at, created_at, updated_at)
        select 1, concat('many ', i), 1, 1, '{}', case when i <= 3 then 'nobody' else '+34611550101' end, 'reply',
          'Many', 'failed', $1, $1, $1 from n`,
      [at],
    );
    // PostgreSQL does it by itself after a minute. Without it, it reads all messages again and again.
    await database.run('analyze deliveries');
    // All to one customer, and the first is refused, so none is sent.
    receiver.answer = (response) => response.writeHead(503).end();
    const counts: number[][] = [];
    for (let afterId = 0, more = true; more; ) {
      const { json } = await send('/retry', { state: 'failed', since: at, after_id: afterId });
      counts.push([json.count, json.skipped]);
      ({ more, after_id: afterId } = json);
    }
    assert.deepEqual(counts, [
      [1997, 3],
      [60, 0],
    ]);
    // Otherwise a poll could send the first of those that are left, which cannot be cancelled then.
    await database.run(`update deliveries set due_at = $1 where state = 'queued'`, [hours(-1)]);
    const { json } = await send('/cancel', { state: 'queued' });
    assert.deepEqual([json.count, json.more], [2000, true]);
    const done = await command('cancel', '--merchant', '1', '--all', '--state', 'queued', '--json');
    assert.deepEqual([done.code, done.json.count], [0, 57], done.stderr);
    const left = await database.all(`select id from deliveries where state = 'queued'`);
    assert.equal(left.length, 0);
    assert.equal((await send('/cancel', { state: 'failed' })).json.count, 3);
  });
});
