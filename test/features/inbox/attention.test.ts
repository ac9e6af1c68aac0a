import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { idsIn, inboxOf } from '../../support/inbox.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine } from '../../support/server.ts';
import { newPhone } from '../../support/whatsapp.ts';

const MINUTE = 60;

interface Item {
  id: number;
  attention: { kind: string; code: string; reason: string };
  delivery: { recipient: string; state: string };
}

/** Messages that failed, and what a merchant does with them. */
function useFailed(engine: Parameters<typeof useMerchant>[0]) {
  const shop = useMerchant(engine);
  const inbox = inboxOf(shop);
  const attention = (query: Record<string, string> = {}, options?: CallOptions) =>
    inbox.page({ tab: 'attention', ...query }, options);
  const setState = (state: string, column: 'id' | 'notification_id', id: number, code: string | null) =>
    shop.deskbell.database.run(
      `update deliveries set state = $3, last_code = $4, reason = 'It did not work.' where merchant_id = $1 and ${column} = $2`,
      [shop.id, id, state, code],
    );
  let asked = 0;
  afterEach(() =>
    shop.deskbell.database.run(
      `update deliveries set state = 'sent' where merchant_id = $1 and state in ('failed', 'queued', 'waiting')`,
      [shop.id],
    ),
  );
  return {
    ...{ shop, inbox, attention, setState },
    asked: () => asked,
    /** An answer that failed with the code of a channel, or because its number is not one. */
    async fail(code?: string, { question = '', conversationId = shop.conversationId } = {}) {
      asked += 1;
      const context = {
        question: question || `Attention ${asked}?`,
        ...(code === undefined && { lead_phone: 'call me' }),
      };
      const body = { notification_type: 'user_question_request', conversation_id: conversationId, context };
      const id = await shop.raise(body);
      await shop.answer(id, `Yes, number ${asked}.`);
      await shop.deskbell.allSent();
      if (code !== undefined) await setState('failed', 'notification_id', id, code);
      return id;
    },
    /** A message that a person wrote in a conversation, and that failed. */
    async failWritten(conversationId: number, code = '131026'): Promise<number> {
      const { json } = await shop.post(`/conversation/${conversationId}/send`, {
        text: 'And one more thing.',
      });
      await shop.deskbell.allSent();
      await setState('failed', 'id', json.delivery_id, code);
      return json.delivery_id;
    },
    async sendAgain(body: object, options?: CallOptions) {
      const reply = await shop.post('/inbox/attention/send-again', body, options);
      await shop.deskbell.allSent();
      return reply;
    },
    /** Of a notification or a delivery. */
    async fix(path: string, phone: unknown, options: CallOptions = {}) {
      const unknown = typeof phone === 'string' ? {} : { documented: false as const };
      const reply = await shop.post(`/${path}/recipient`, { phone }, { ...unknown, ...options });
      await shop.deskbell.allSent();
      return reply;
    },
    stateOf: async (id: number) => (await inbox.page({ ids: String(id) })).items[0].delivery.state,
    deliveryOf: async (id: number) => (await shop.get(`/delivery/${id}`)).json,
  };
}
const SENT = ['sent', 'delivered', 'read'];

onEachEngine('answers that failed', (engine) => {
  const failed = useFailed(engine);
  const { shop, inbox, attention, fail, sendAgain, fix, stateOf, setState } = failed;
  const other = useMerchant(engine);
  const isSent = async (id: number) => SENT.includes(await stateOf(id));
  const listed = async (query?: Record<string, string>) => idsIn(await attention(query));

  it('are listed with a code and a reason, newest first, until they are sent', async () => {
    const [number, channel, unknown] = [await fail(), await fail('131026'), await fail('HTTP_418')];
    const { items } = await attention();
    assert.deepEqual(
      items.map((item: Item) => [item.id, item.attention.kind, item.attention.code]),
      [
        [unknown, 'failed', 'gave_up'],
        [channel, 'failed', 'cannot_receive'],
        [number, 'failed', 'bad_number'],
      ],
    );
    assert.equal(items[2].attention.reason, '“call me” is not a phone number.');
    // The other tabs mark them.
    const marked = (await inbox.page({ tab: 'answered' })).items.filter((item: Item) => item.attention);
    assert.deepEqual(idsIn({ items: marked }), idsIn({ items }));
    assert.deepEqual((await inbox.counts()).attention, { count: 3, more: false });
    assert.deepEqual(await inboxOf(other).idsOf({ tab: 'attention' }), []);

    const { json } = await sendAgain({ ids: [channel, number, 987_654] });
    assert.deepEqual(json, {
      ...{ message: '1 message is queued again.', count: 1, skipped: 1, left_out: 0 },
      ...{ more: false, after_id: 0 },
      results: [
        { id: channel, result: 'queued' },
        { id: number, result: 'bad_number' },
        { id: 987_654, result: 'not_found' },
      ],
    });
    assert.ok(await isSent(channel));
    assert.deepEqual(await listed(), [unknown, number]);
    const again = await sendAgain({ ids: [channel] });
    assert.deepEqual(again.json.results, [{ id: channel, result: 'not_failed' }]);
  });

  it('have pages in both orders, a search and a type', async () => {
    const ids = [await fail('X'), await fail('X'), await fail('X')];
    for (const sort of ['newest', 'oldest']) {
      const items = await inbox.allPages({ tab: 'attention', sort, limit: '1' });
      assert.deepEqual(idsIn({ items }), sort === 'oldest' ? ids : ids.toReversed());
    }
    const q = `number ${failed.asked() - 1}`;
    assert.deepEqual(await listed({ q }), [ids[1]]);
    assert.equal((await inbox.counts({ q })).attention.count, 1);
    assert.deepEqual(await listed({ type: 'user_support_request' }), []);
    await shop.delete(`/notification/${ids[1]}`);
    assert.deepEqual(await listed(), [ids[2], ids[0]]);
    assert.equal((await sendAgain({ ids: [ids[1]] })).json.results[0].result, 'not_found');
  });

  it('can all be sent again, only by their own merchant, and those without a number stay', async () => {
    const [first, number, last] = [await fail('X'), await fail(), await fail('X')];
    const options = { token: await other.token() };
    assert.equal((await sendAgain({ all: true }, options)).json.count, 0);
    const foreign = await sendAgain({ ids: [first] }, options);
    assert.deepEqual(foreign.json.results, [{ id: first, result: 'not_found' }]);
    const { json } = await sendAgain({ all: true });
    assert.deepEqual([json.count, json.skipped, json.more], [2, 1, false]);
    assert.ok((await isSent(first)) && (await isSent(last)));
    assert.deepEqual(await listed(), [number]);
  });

  it('are sent again once if people choose them at the same time, in another order', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await fail('X'));
    const replies = await Promise.all([
      sendAgain({ ids }),
      sendAgain({ ids: ids.toReversed() }),
      sendAgain({ ids }),
    ]);
    const sum = replies.reduce((total, { json }) => total + json.count, 0);
    assert.equal(sum, ids.length);
  });

  it('get a new number, which the next answer of the conversation uses too', async () => {
    const wrong = '+34611009900';
    const conversationId = await shop.converse();
    const ask = async (lead_phone: string) => {
      const context = { question: 'Wrong number?', lead_phone };
      const body = { notification_type: 'user_question_request', conversation_id: conversationId, context };
      const id = await shop.raise(body);
      await shop.answer(id);
      await shop.deskbell.allSent();
      return id;
    };
    const id = await ask(wrong);
    const path = `notification/${id}`;
    assertError(await fix(path, '+34611550142'), 409, 'CONFLICT');
    await setState('failed', 'notification_id', id, '131026');
    for (const phone of ['nobody', '+999123', 5])
      assertError(await fix(path, phone), 422, 'VALIDATION_ERROR', 'phone');
    const foreign = await fix(path, '+34611550142', { token: await other.token() });
    assertError(foreign, 404, 'NOTIFICATION_NOT_FOUND');
    assert.equal((await fix('notification/987654', '+34611550142')).text, foreign.text);
    assert.equal(await stateOf(id), 'failed');
    assert.equal((await fix(path, '+34 611 55 01 42')).status, 200);
    assert.ok(await isSent(id));
    const [item] = (await inbox.page({ ids: String(id) })).items;
    assert.deepEqual(
      [item.delivery.recipient, item.customer.phone, item.attention],
      ['+34611550142', '+34611550142', null],
    );
    // The assistant still gives the wrong one.
    const [next, another] = [await ask('0034 611 00 99 00'), await ask('+34611009911')];
    const { items } = await inbox.page({ ids: `${next},${another}` });
    assert.deepEqual(
      items.map((one: Item) => one.delivery.recipient),
      ['+34611009911', '+34611550142'],
    );
    const { json } = await shop.get('/audit?what=notification.recipient_changed');
    assert.deepEqual(
      [json.length, json[0].about, json[0].who.name],
      [1, { notification_id: id }, 'Olga Owner'],
    );
  });

  it('are sent again by keys that may answer, and get a new number from people only', async () => {
    const id = await fail('X');
    const options = { token: await shop.key('answer', 'notifications:read') };
    assert.equal((await fix(`notification/${id}`, '+34611550142', options)).status, 403);
    assert.equal((await sendAgain({ ids: [id] }, options)).json.count, 1);
    const reader = { token: await shop.key('notifications:read') };
    assert.equal((await attention({}, reader)).items.length, 0);
    assert.equal((await sendAgain({ ids: [id] }, reader)).status, 403);
  });
});

onEachEngine('messages without a question that failed', (engine) => {
  const failed = useFailed(engine);
  const { shop, inbox, attention, fail, failWritten, sendAgain, fix, deliveryOf } = failed;
  const other = useMerchant(engine);
  const messages = async (query?: Record<string, string>): Promise<number[]> =>
    (await attention(query)).messages.map(({ id }: Item) => id);
  const counted = async (query?: Record<string, string>) => (await inbox.counts(query)).attention.count;
  const isSent = async (id: number) => SENT.includes((await deliveryOf(id)).state);
  const assignToMe = (id: number) => shop.put(`/notification/${id}/assignee`, { user_id: shop.owner.id });

  it('are listed with their customer and what to open, counted, and sent again', async () => {
    const conversationId = await shop.converse({ customer_name: 'Ana' });
    const [first, second] = [await failWritten(conversationId), await failWritten(conversationId)];
    assert.deepEqual(await messages(), [second, first]);
    const answered = await fail('X', { conversationId });
    const list = await attention();
    assert.deepEqual(idsIn(list), [answered]);
    const { recipient, updated_at, ...delivery } = list.messages[0].delivery;
    assert.deepEqual(
      { ...list.messages[0], delivery },
      {
        ...{ id: second, text: 'And one more thing.', by: 'Olga Owner' },
        ...{ customer: { name: 'Ana', phone: recipient }, conversation: { id: conversationId } },
        ...{ notification_id: answered, delivery: { id: second, state: 'failed' } },
        attention: { kind: 'failed', code: 'cannot_receive', reason: 'It did not work.', since: updated_at },
      },
    );
    assert.equal(await counted(), 3);
    assert.deepEqual((await inboxOf(other).page({ tab: 'attention' })).messages, []);
    assert.equal((await inbox.page({ tab: 'answered' })).messages.length, 0);
    const reader = { token: await shop.key('notifications:read') };
    assert.equal((await attention({}, reader)).messages.length, 2);

    assert.equal((await shop.post(`/delivery/${first}/retry`)).status, 200);
    await shop.deskbell.allSent();
    assert.deepEqual(await messages(), [second]);
    assert.equal((await sendAgain({ all: true })).json.count, 2);
    assert.ok(await isSent(second));
    assert.equal(await counted(), 0);
  });

  it('are found by the newest question of their conversation', async () => {
    const [mine, others, none] = [await shop.converse(), await shop.converse(), await shop.converse()];
    const ask = (question: string, conversation_id: number) =>
      shop.raise({ notification_type: 'user_question_request', conversation_id, context: { question } });
    await assignToMe(await ask('A zebra mug?', mine));
    await ask('A giraffe mug?', others);
    const [about, another, alone] = [
      await failWritten(mine),
      await failWritten(others),
      await failWritten(none),
    ];
    assert.deepEqual(await messages(), [alone, another, about]);
    assert.equal((await attention()).messages[0].notification_id, null);
    for (const filter of [{ q: 'zebra' }, { assigned: 'me' }, { assigned: String(shop.owner.id) }]) {
      assert.deepEqual(await messages(filter), [about]);
      assert.equal(await counted(filter), 1);
    }
    assert.deepEqual(await messages({ assigned: 'none' }), [another]);
    assert.deepEqual(await messages({ type: 'user_support_request' }), []);
    assert.deepEqual(await messages({ sort: 'oldest' }), [about, another, alone]);
  });

  it('and answers are all sent again only as far as the filter goes', async () => {
    const [mine, others] = [await shop.converse(), await shop.converse()];
    await fail('X', { question: 'A zebra cup?', conversationId: mine });
    const giraffe = await fail('X', { question: 'A giraffe cup?', conversationId: others });
    const [aboutZebra, aboutGiraffe] = [await failWritten(mine), await failWritten(others)];
    await assignToMe(giraffe);
    const { json: dry } = await sendAgain({ all: true, dry_run: true, q: 'zebra' });
    assert.deepEqual([dry.message, dry.count], ['2 messages would be queued again.', 2]);
    assert.equal(await counted(), 4);
    assert.equal((await sendAgain({ all: true, q: 'zebra' })).json.count, 2);
    assert.deepEqual(idsIn(await attention()), [giraffe]);
    assert.ok((await isSent(aboutZebra)) && !(await isSent(aboutGiraffe)));
    for (const [filter, count] of [
      [{ type: 'user_support_request' }, 0],
      [{ assigned: 'none' }, 0],
      [{ assigned: 'me' }, 2],
    ] as const)
      assert.equal((await sendAgain({ all: true, ...filter })).json.count, count);
    assert.equal(await counted(), 0);
  });

  it('and answers are not all sent again if the customer may have them or does not want them', async () => {
    const conversationId = await shop.converse();
    const kept = [await fail('131050', { conversationId }), await fail('TIMEOUT', { conversationId })];
    const unknown = await failWritten(conversationId, 'NETWORK');
    await fail('X', { conversationId });
    const { json } = await sendAgain({ all: true });
    assert.deepEqual([json.count, json.skipped, json.left_out], [1, 0, 3]);
    assert.deepEqual(await inbox.idsOf({ tab: 'attention', sort: 'oldest' }), kept);
    assert.deepEqual(await messages(), [unknown]);
    // One by one they can be.
    assert.equal((await sendAgain({ ids: kept })).json.count, 2);
  });

  it('get a new number, which the conversation remembers and what else waits for it follows', async () => {
    const [wrong, right] = [newPhone(), newPhone()];
    const id = await shop.converse({ customer_phone: wrong });
    const [first, second] = [await failWritten(id), await failWritten(id)];
    const answered = await fail('131026', { conversationId: id });
    const { json: waiting } = await shop.post(`/conversation/${id}/send`, {
      text: 'Soon.',
      undo_seconds: 60,
    });
    const fixDelivery = (delivery: number | string, phone: unknown, options?: CallOptions) =>
      fix(`delivery/${delivery}`, phone, options);
    for (const phone of ['12', '', null])
      assertError(await fixDelivery(first, phone), 422, 'VALIDATION_ERROR', 'phone');
    const foreign = await fixDelivery(first, right, { token: await other.token() });
    assertError(foreign, 404, 'DELIVERY_NOT_FOUND');
    for (const unknown of [987_654, 'x'])
      assert.equal((await fixDelivery(unknown, right)).text, foreign.text);
    const key = await shop.key('answer', 'notifications:read');
    assert.equal((await fixDelivery(first, right, { token: key })).status, 403);
    assert.equal((await deliveryOf(first)).state, 'failed');

    const fixed = await fixDelivery(first, right);
    assert.deepEqual([fixed.status, fixed.json], [200, { message: 'The message is queued again.' }]);
    assert.ok(await isSent(first));
    assertError(await fixDelivery(first, newPhone()), 409, 'CONFLICT');
    for (const delivery of [first, second, waiting.delivery_id])
      assert.equal((await deliveryOf(delivery)).recipient, right);
    const list = await attention();
    assert.deepEqual(
      [...list.items, ...list.messages].map((one: Item) => [one.id, one.attention.code]),
      [
        [answered, 'number_fixed'],
        [second, 'number_fixed'],
      ],
    );
    assert.equal((await shop.get(`/conversation/${id}`)).json.customer_phone, right);
    const { json } = await shop.get('/audit?what=delivery.recipient_changed');
    assert.deepEqual(
      [json.length, json[0].about, json[0].who.name],
      [1, { delivery_id: first }, 'Olga Owner'],
    );
  });

  it('were taken back: nobody can send them', async () => {
    const id = await shop.converse();
    const { json } = await shop.post(`/conversation/${id}/send`, { text: 'Oops', undo_seconds: 60 });
    const delivery = json.delivery_id;
    assert.equal((await shop.delete(`/conversation/${id}/sent/${delivery}`)).status, 200);
    assert.equal((await shop.post('/delivery/retry', { state: 'cancelled' })).json.count, 0);
    assert.equal((await shop.post(`/delivery/${delivery}/retry`)).status, 409);
    assert.equal((await fix(`delivery/${delivery}`, newPhone())).status, 409);
    assert.equal((await deliveryOf(delivery)).state, 'cancelled');
  });
});

onEachEngine('messages that wait', (engine) => {
  const shop = useMerchant(engine, { WORKER: 'false' });
  const inbox = inboxOf(shop);

  /** A message that nobody sends, in this state. */
  const put = async (changes = '') => {
    const id = await shop.raise('Waiting?');
    await shop.answer(id, 'Soon.');
    if (changes)
      await shop.deskbell.database.run(`update deliveries set ${changes} where notification_id = $1`, [id]);
    return id;
  };
  const listed = async () =>
    (await inbox.page({ tab: 'attention', sort: 'oldest' })).items.map((item: Item) => [
      ...[item.id, item.attention.kind, item.attention.code],
    ]);

  it('need attention after ten minutes, with what they wait for, and start anew when they are sent again', async () => {
    const { clock } = shop.deskbell;
    clock.stop();
    const plain = await put();
    const limit = await put(`state = 'waiting', waiting_for = 'limit'`);
    const customer = await put(`state = 'waiting', waiting_for = 'customer'`);
    const behind = await put(`due_at = '9999-12-31T00:00:00.000Z'`);
    const retried = await put(`last_code = 'HTTP_503'`);
    const failed = await put(`state = 'failed', last_code = 'HTTP_503'`);
    await put(`state = 'read'`);
    assert.deepEqual(await listed(), [[failed, 'failed', 'gave_up']]);
    clock.jump(9 * MINUTE + 59);
    assert.equal((await listed()).length, 1);
    const answered = (headers = {}) => shop.get('/inbox?tab=answered', { headers });
    const tag = (await answered()).headers.get('etag')!;
    clock.jump(1);
    assert.deepEqual(await listed(), [
      [plain, 'waiting', 'not_sent_yet'],
      [limit, 'waiting', 'daily_limit'],
      [customer, 'waiting', 'customer_must_write'],
      [behind, 'waiting', 'earlier_message'],
      [retried, 'waiting', 'retrying'],
      [failed, 'failed', 'gave_up'],
    ]);
    // Only time has passed, but the list is another one.
    assert.equal((await answered({ 'if-none-match': tag })).status, 200);

    assert.equal((await shop.post('/inbox/attention/send-again', { all: true })).json.count, 1);
    assert.ok(!(await listed()).some(([id]: [number]) => id === failed));
    clock.jump(10 * MINUTE);
    assert.ok((await listed()).some(([id]: [number]) => id === failed));
    clock.go();
  });

  it('need attention at once while their channel is stopped, all of them and no longer', async () => {
    const { database, clock } = shop.deskbell;
    const stop = (kind: string) =>
      database.run(
        `insert into channel_stops (channel_id, kind, code, stopped_at, until, probes)
          values ('simulator', $1, '190', $2, '9999-01-01T00:00:00.000Z', 0)`,
        [kind, clock.now().toISOString()],
      );
    await database.run(`update deliveries set state = 'sent' where merchant_id = $1`, [shop.id]);
    const ids = [await put(), await put(`state = 'waiting', waiting_for = 'limit'`)];
    await put(`state = 'sent'`);
    assert.deepEqual(await listed(), []);
    await stop('refused');
    assert.deepEqual(
      await listed(),
      ids.map((id) => [id, 'stopped', 'channel_stopped']),
    );
    assert.deepEqual((await inbox.counts()).attention, { count: 2, more: false });
    await database.run('delete from channel_stops');
    assert.deepEqual(await listed(), []);
    // One that does not answer is tried again soon.
    await stop('not_answering');
    assert.deepEqual(await listed(), []);
    clock.jump(10 * MINUTE);
    assert.deepEqual((await listed())[0], [ids[0], 'waiting', 'channel_not_answering']);
    await database.run('delete from channel_stops');
  });
});

describe('the messages to send again', () => {
  const shop = useMerchant('sqlite');

  it('are named by the request, one way', async () => {
    for (const [body, field] of [
      [{}, 'body'],
      [{ ids: [1], all: true }, 'body'],
      [{ all: false }, 'body'],
      [{ ids: [] }, 'ids'],
      [{ ids: [1, 1] }, 'ids'],
      [{ ids: ['1'] }, 'ids'],
      [{ all: true, after_id: 'x' }, 'after_id'],
    ] as const) {
      const reply = await shop.post('/inbox/attention/send-again', body, { documented: false });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
    }
  });
});
