import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { createOutbox } from '../../src/delivery/queue/enqueue.ts';
import { beginErasure } from '../../src/erasure/begin.ts';
import type { Runner } from '../../src/jobs/runner.ts';
import { tablesWith } from '../support/canaries.ts';
import { CANARIES, callsOf, erased, PHONE } from '../support/erasing.ts';
import { makeQueuesDue } from '../support/sending.ts';
import { assertError, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, openShop, putAll, type Shop, startWorkerWithTimeout, until } from '../support/shops.ts';

const NEIGHBOUR = '+34611000009';

onEachEngine('a customer who is being erased', (engine) => {
  // Without its worker, so that nothing is removed: only what the request has done keeps a message from being sent.
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  let shop: Shop;
  let worker: Runner | undefined;
  before(async () => {
    shop = await openShop(deskbell, AURORA_ID);
  });
  after(() => Promise.all([worker?.stop(), shop?.receiver.close()]));

  it('gets nothing any more, whatever waited, is held, had failed or is written at that moment', async () => {
    const { ok, call, raise, answered, conversation } = callsOf(deskbell);
    const { database, clock } = deskbell;
    const id = await conversation('zqx-all');
    await answered(id, { question: 'zqxreply?' });
    await answered(id, { question: 'zqxother?', lead_phone: '+34611000010' });
    await answered(id, { question: 'zqxcampaign?' }, { only_send_campaign: true });
    await answered(id, { question: 'zqxheld?', lead_phone: '+34611000011' }, { undo_seconds: 60 });
    await ok('POST', `/conversation/${id}/send`, { text: 'zqxundone', undo_seconds: 60 });
    const failed = await answered(id, { question: 'zqxfailed?', lead_phone: '+34611000012' });
    const [failure] = await database.run<{ id: number }>(
      `update deliveries set state = 'failed' where notification_id = $1 returning id`,
      [failed],
    );
    const open = await raise(id, { question: 'zqxopen?', lead_phone: '+34611000013' });

    assert.equal((await call('DELETE', `/conversation/${id}`)).status, 202);
    const states = await database.all<{ state: string }>(
      `select distinct state from deliveries where conversation_id = $1 order by state`,
      [id],
    );
    assert.deepEqual(
      states.map(({ state }) => state),
      ['cancelled', 'failed'],
    );
    assertError(
      await call('POST', `/notification/${open}/answer`, { answer: 'Yes.' }),
      ...([404, 'NOTIFICATION_NOT_FOUND'] as const),
    );
    assertError(
      await call('POST', `/conversation/${id}/send`, { text: 'zqxlate' }),
      ...([404, 'CONVERSATION_NOT_FOUND', 'conversation_id'] as const),
    );
    assert.equal((await call('POST', `/delivery/${failure!.id}/retry`)).status, 409);
    // A request that began before: its statement sees no erasure, or comes after it.
    const outbox = createOutbox(database, { channelDailyLimit: 250, defaultCountry: undefined });
    const late = {
      conversationId: id,
      reference: null,
      recipient: PHONE,
      country: null,
      content: 'zqxwritten',
    };
    const written = await database.transaction((tx) =>
      outbox.send(tx, AURORA_ID, { ...late, at: clock.now() }),
    );
    assert.equal(written, undefined);
    await database.run(
      `update deliveries set state = 'queued', last_code = null, due_at = created_at where conversation_id = $1`,
      [id],
    );
    await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: NEIGHBOUR, content: 'For somebody else.' }]);
    // The held answer and what could be taken back are due.
    clock.jump(120);
    await makeQueuesDue(database, clock.now());
    worker = startWorkerWithTimeout(deskbell, () => 30_000);
    await until('the other customer got theirs', () => shop.receiver.received.length > 0);
    await answered(1, { question: 'Open?', lead_phone: NEIGHBOUR }, { answer: 'Held.', undo_seconds: 1 });
    clock.jump(2);
    // Held answers are released in the order of their times: that of the erased customer was due before.
    await until('a later held answer is sent', () => shop.receiver.received.length > 1);
    await worker.idle();
    assert.deepEqual(await database.all(`select 1 from deliveries where content = 'zqxwritten'`), []);
    assert.deepEqual(
      shop.receiver.received.map(({ json }) => json.data.recipient),
      [NEIGHBOUR, NEIGHBOUR],
    );
  });
});

onEachEngine('an erasure while a message is sent', (engine) => {
  const deskbell = useDeskbell(engine);
  let shop: Shop;
  after(() => shop?.receiver.close());

  it('waits for it, and sends no other one', async () => {
    const { ok, answered, conversation } = callsOf(deskbell);
    const { database, clock } = deskbell;
    shop = await openShop(deskbell, AURORA_ID);
    const id = await conversation('zqx-sending');
    let respond = () => {};
    shop.receiver.answer = (response) => {
      respond = () => response.writeHead(204).end();
    };
    clock.stop();
    await answered(id, { question: 'zqxfirst?' });
    await until('a message is being sent', () => shop.receiver.received.length === 1);
    // Of another lane, which the first one does not block. It is due as soon as the clock goes on.
    await ok('POST', `/conversation/${id}/send`, { text: 'zqxsecond', undo_seconds: 5 });
    await answered(id, { question: 'zqxthird?' }, { only_send_campaign: true, undo_seconds: 5 });
    // Not due for the eraser, so that only the beginning counts.
    const at = new Date(clock.now().getTime() + 60_000);
    await database.transaction((tx) => beginErasure(tx, AURORA_ID, id, { who: SERVER, at }));
    clock.jump(10);
    await makeQueuesDue(database, clock.now());
    const states = async () =>
      (
        await database.all<{ state: string }>(
          'select state from deliveries where conversation_id = $1 order by id',
          [id],
        )
      ).map(({ state }) => state);
    assert.deepEqual(await states(), ['sending', 'cancelled']);
    await database.run('update erasures set due_at = $1, created_at = $1', [clock.now().toISOString()]);
    await until('the other one is gone', async () => (await states()).length === 1);
    assert.deepEqual(await states(), ['sending']);
    respond();
    clock.go();
    await until('it is gone, too', async () => (await states()).length === 0);
    await erased(deskbell);
    assert.equal(shop.receiver.received.length, 1);
    assert.deepEqual(await tablesWith(deskbell.database, CANARIES), []);
  });
});
