import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run, settingsOf } from '../../support/command.ts';
import type { ReceivedCall } from '../../support/receiver.ts';
import { assertError, BOREALIS, onEachEngine } from '../../support/server.ts';
import { AURORA_ID, accept, BOREALIS_ID, phoneOf, putAll, refuse, useReceiver } from '../../support/shops.ts';

const HOUR_MS = 3_600_000;
const contentOf = ({ json }: ReceivedCall): string => json.data.content;

onEachEngine('deliveries that a merchant retries or cancels', (engine) => {
  const { deskbell, receiver } = useReceiver(engine, { CHANNEL_DAILY_LIMIT: '1' });

  let customers = 0;
  const newCustomer = () => phoneOf(++customers);
  const put = async (recipient = newCustomer(), change: { mode?: 'campaign'; content?: string } = {}) => {
    const [id] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient, ...change }]);
    await deskbell.allSent();
    return id!;
  };
  const hoursAgo = (hours: number) => new Date(deskbell.clock.now().getTime() - hours * HOUR_MS);
  const putFailed = async (failedHoursAgo = 0, merchantId = AURORA_ID) => {
    const [id] = await putAll(deskbell, [{ merchantId, recipient: newCustomer(), at: hoursAgo(-1) }]);
    await deskbell.database.run(
      `update deliveries set state = 'failed', attempts = 10, last_code = 'HTTP_404', updated_at = $2 where id = $1`,
      [id!, hoursAgo(failedHoursAgo).toISOString()],
    );
    return id!;
  };
  const send = async (path: string, body?: unknown, user?: typeof BOREALIS) => {
    const token = await deskbell.signIn(user?.email, user?.password);
    const reply = await deskbell.call('POST', `/api/v1/delivery${path}`, { token, body });
    await deskbell.allSent();
    return reply;
  };
  const stateOf = async (id: number) =>
    (await deskbell.database.one<{ state: string }>('select state from deliveries where id = $1', [id]))!
      .state;
  const statesOf = (...ids: readonly number[]) => Promise.all(ids.map(stateOf));
  const command = (...args: string[]) => run(['delivery', ...args], { env: settingsOf(deskbell) });

  it('are retried in bulk since a given time, without touching other merchants’', async () => {
    const foreign = await putFailed(0, BOREALIS_ID);
    const [old, recent, last] = [await putFailed(5), await putFailed(1), await putFailed()];
    const { status, json } = await send('/retry', { state: 'failed', since: hoursAgo(2) });
    const message = '2 messages are queued again.';
    assert.deepEqual([status, json], [200, { message, count: 2, skipped: 0, more: false, after_id: last }]);
    assert.deepEqual(await statesOf(old, recent, last, foreign), ['failed', 'sent', 'sent', 'failed']);
    assert.equal((await send('/retry', { state: 'failed' })).json.count, 1);
    assert.deepEqual(await statesOf(old, foreign), ['sent', 'failed']);
    assert.equal(receiver.received.length, 3);
    await deskbell.database.run(`update deliveries set state = 'sent' where id = $1`, [foreign]);
  });

  it('are cancelled, one or many, and a cancelled one can be retried', async () => {
    receiver.answer = refuse;
    const recipient = newCustomer();
    const putText = (content: string) => put(recipient, { content });
    const [one, two, three] = [await putText('one'), await putText('two'), await putText('three')];
    receiver.answer = accept;
    const before = receiver.received.length;
    const { status, json } = await send(`/${one}/cancel`);
    assert.deepEqual([status, json], [200, { message: 'The message is cancelled.' }]);
    assert.deepEqual(await statesOf(one, two, three), ['cancelled', 'sent', 'sent']);
    assert.equal((await send(`/${one}/retry`)).status, 200);
    assert.deepEqual(receiver.received.slice(before).map(contentOf), ['two', 'three', 'one']);

    const failed = [await putFailed(), await putFailed()];
    const many = await send('/cancel', { state: 'failed' });
    const message = '2 messages are cancelled.';
    assert.deepEqual(many.json, { message, count: 2, skipped: 0, more: false, after_id: failed[1] });
    assert.deepEqual(await statesOf(...failed), ['cancelled', 'cancelled']);
    assert.equal((await send('/retry', { state: 'cancelled', since: hoursAgo(0) })).json.count, 2);
    assert.deepEqual(await statesOf(...failed), ['sent', 'sent']);
  });

  it('free their part of the daily limit when a campaign is cancelled', async () => {
    receiver.answer = refuse;
    const campaign = () => put(undefined, { mode: 'campaign' });
    const [first, second] = [await campaign(), await campaign()];
    assert.deepEqual(await statesOf(first, second), ['queued', 'waiting']);
    receiver.answer = accept;
    assert.equal((await send(`/${first}/cancel`)).status, 200);
    assert.deepEqual(await statesOf(first, second), ['cancelled', 'sent']);
    const limits = await deskbell.call('GET', '/api/v1/limits', { token: await deskbell.signIn() });
    assert.equal(limits.json.used, 1);
  });

  it('are refused with a named error if their state does not allow it, and are not found by others', async () => {
    const sent = await put();
    receiver.answer = refuse;
    const queued = await put();
    for (const path of [`/${sent}/cancel`, `/${sent}/retry`, `/${queued}/retry`])
      assertError(await send(path), 409, 'CONFLICT');
    for (const path of [`/${queued}/cancel`, `/${queued}/retry`])
      assertError(await send(path, undefined, BOREALIS), 404, 'DELIVERY_NOT_FOUND');
    for (const path of ['/retry', '/cancel'])
      assert.equal((await send(path, { state: 'failed' }, BOREALIS)).json.count, 0);
    assert.equal((await send(`/${queued}/cancel`)).status, 200);
    assertError(await send(`/${queued}/cancel`), 409, 'CONFLICT');
    assert.deepEqual(await statesOf(sent, queued), ['sent', 'cancelled']);
  });

  it('cannot be cancelled while they are being sent', async () => {
    const called = Promise.withResolvers<() => void>();
    receiver.answer = (...call) => called.resolve(() => accept(...call));
    const [id] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: newCustomer() }]);
    const answer = await called.promise;
    const token = await deskbell.signIn();
    assertError(await deskbell.call('POST', `/api/v1/delivery/${id}/cancel`, { token }), 409, 'CONFLICT');
    answer();
    await deskbell.allSent();
    assert.equal(await stateOf(id!), 'sent');
    receiver.answer = accept;
  });

  it('are selected only by a valid state and a valid time', async () => {
    for (const [path, body, field] of [
      ['/retry', { state: 'queued' }, 'state'],
      ['/retry', {}, 'state'],
      ['/cancel', { state: 'sending' }, 'state'],
      ['/cancel', { state: 'failed', since: '2026-13-45' }, 'since'],
    ] as const)
      assertError(await send(path, body), 422, 'VALIDATION_ERROR', field);
  });

  it('are managed the same way on the command line', async () => {
    // A command does not have the stopped clock.
    await deskbell.clock.advance(3600);
    const [old, recent] = [await putFailed(5), await putFailed()];
    const all = ['--merchant', '1', '--all', '--state', 'failed'];
    const retried = await command('retry', ...all, '--since', hoursAgo(2).toISOString(), '--json');
    assert.deepEqual([retried.code, retried.json], [0, { count: 1, skipped: 0 }], retried.stderr);
    await deskbell.allSent();
    assert.deepEqual(await statesOf(old, recent), ['failed', 'sent']);
    assert.equal((await command('cancel', ...all)).stdout, '1 message cancelled.\n');
    assert.equal((await command('retry', `${old}`, '--merchant', '1')).code, 0);
    await deskbell.allSent();
    for (const [args, code, message] of [
      [['cancel', `${old}`, '--merchant', '1'], 1, /^Delivery \d+ is being sent, or was sent or cancelled/],
      [['cancel', `${old}`, '--merchant', '2'], 1, /This merchant has no delivery/],
      [['retry', ...all, '--since', 'yesterday'], 2, /--since/],
    ] as const) {
      const refused = await command(...args);
      assert.equal(refused.code, code, refused.stdout);
      assert.match(refused.stderr, message);
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
    await database.run('analyze deliveries');
    // All to one customer, and the first is refused, so none is sent.
    receiver.answer = refuse;
    // Both choose in the same way, and to send them takes much longer on PostgreSQL.
    const path = engine === 'sqlite' ? '/retry' : '/cancel';
    const { json } = await send(path, { state: 'failed', since: at });
    assert.deepEqual(
      [json.count, json.skipped, json.more],
      engine === 'sqlite' ? [1997, 3, true] : [2000, 0, true],
    );
    const rest = (await send(path, { state: 'failed', since: at, after_id: json.after_id })).json;
    assert.deepEqual([rest.count, rest.skipped, rest.more], [60, 0, false]);
  });
});
