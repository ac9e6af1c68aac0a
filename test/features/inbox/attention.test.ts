import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { idsIn, inboxOf } from '../../support/inbox.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine } from '../../support/server.ts';
import { newPhone } from '../../support/whatsapp.ts';

const MINUTE = 60;
const SENT = ['sent', 'delivered', 'read'];

interface Item {
  id: number;
  attention: { kind: string; code: string; reason: string };
  delivery: { recipient: string; state: string };
}
const listedAs = (items: readonly Item[]) =>
  items.map(({ id, attention }) => `${id} ${attention.kind} ${attention.code}`);

onEachEngine('messages that failed', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const inbox = inboxOf(shop);
  const attention = (query: Record<string, string> = {}) => inbox.page({ tab: 'attention', ...query });
  /** The answers, and the messages without a question. */
  const listed = async (query?: Record<string, string>): Promise<[answers: number[], messages: number[]]> => {
    const { items, messages } = await attention(query);
    return [idsIn({ items }), idsIn({ items: messages })];
  };
  const counted = async (query?: Record<string, string>) => (await inbox.counts(query)).attention.count;
  afterEach(() =>
    shop.deskbell.database.run(
      `update deliveries set state = 'sent' where merchant_id = $1 and state in ('failed', 'queued', 'waiting')`,
      [shop.id],
    ),
  );

  const setFailed = (column: 'id' | 'notification_id', id: number, code: string) =>
    shop.deskbell.database.run(
      `update deliveries set state = 'failed', last_code = $2, reason = 'It did not work.' where ${column} = $1`,
      [id, code],
    );
  let asked = 0;
  /** An answer that failed with the code of a channel, or because its number is not one. */
  async function fail(
    code?: string,
    { question = 'Attention?', conversation_id = shop.conversationId } = {},
  ) {
    asked += 1;
    const to = code === undefined ? { lead_phone: 'call me' } : {};
    const id = await shop.raise({ conversation_id, context: { question, ...to } });
    await shop.answer(id, `Yes, number ${asked}.`);
    await shop.deskbell.allSent();
    if (code !== undefined) await setFailed('notification_id', id, code);
    return id;
  }
  /** A message that a person wrote in a conversation, and that failed. */
  async function failWritten(conversationId: number, code = '131026'): Promise<number> {
    const { json } = await shop.post(`/conversation/${conversationId}/send`, { text: 'And one more thing.' });
    await shop.deskbell.allSent();
    await setFailed('id', json.delivery_id, code);
    return json.delivery_id;
  }
  const sendAgain = async (body: object, options?: CallOptions) => {
    const { json } = await shop.post('/inbox/attention/send-again', body, options);
    await shop.deskbell.allSent();
    return json;
  };
  /** Of a notification or a delivery. */
  const fix = async (path: string, phone: unknown, options: CallOptions = {}) => {
    const unknown = typeof phone === 'string' ? {} : { documented: false as const };
    const reply = await shop.post(`/${path}/recipient`, { phone }, { ...unknown, ...options });
    await shop.deskbell.allSent();
    return reply;
  };
  const stateOf = async (id: number) => (await inbox.page({ ids: String(id) })).items[0].delivery.state;
  const deliveryOf = async (id: number) => (await shop.get(`/delivery/${id}`)).json;
  const isSent = async (id: number) => SENT.includes(await stateOf(id));
  const lastAudit = async (what: string) => {
    const [event, ...others] = (await shop.get(`/audit?what=${what}`)).json;
    return [event.about, event.who.name, others];
  };

  it('are listed with a code and a reason, newest first, until they are sent', async () => {
    const [number, channel, unknown] = [await fail(), await fail('131026'), await fail('HTTP_418')];
    const { items } = await attention();
    assert.deepEqual(listedAs(items), [
      `${unknown} failed gave_up`,
      `${channel} failed cannot_receive`,
      `${number} failed bad_number`,
    ]);
    assert.equal(items[2].attention.reason, '“call me” is not a phone number.');
    // The other tabs mark them.
    const marked = (await inbox.page({ tab: 'answered' })).items.filter((item: Item) => item.attention);
    assert.deepEqual(idsIn({ items: marked }), idsIn({ items }));
    assert.deepEqual((await inbox.counts()).attention, { count: 3, more: false });

    assert.deepEqual(await sendAgain({ ids: [channel, number, 987_654] }), {
      ...{ message: '1 message is queued again.', count: 1, skipped: 1, left_out: 0 },
      ...{ more: false, after_id: 0 },
      results: [
        { id: channel, result: 'queued' },
        { id: number, result: 'bad_number' },
        { id: 987_654, result: 'not_found' },
      ],
    });
    assert.ok(await isSent(channel));
    assert.deepEqual(await listed(), [[unknown, number], []]);
    assert.deepEqual((await sendAgain({ ids: [channel] })).results, [{ id: channel, result: 'not_failed' }]);
  });

  it('have pages in both orders, and can be without a question: with their customer, and what to open', async () => {
    const conversation_id = await shop.converse({ customer_name: 'Ana' });
    const [first, second] = [await failWritten(conversation_id), await failWritten(conversation_id)];
    const ids = [await fail('X'), await fail('X'), await fail('X', { conversation_id })];
    for (const sort of ['newest', 'oldest']) {
      const items = await inbox.allPages({ tab: 'attention', sort, limit: '1' });
      assert.deepEqual(idsIn({ items }), sort === 'oldest' ? ids : ids.toReversed());
    }
    const [message] = (await attention()).messages;
    const { recipient, updated_at: since, ...delivery } = message.delivery;
    assert.deepEqual(
      { ...message, delivery },
      {
        ...{ id: second, text: 'And one more thing.', by: 'Olga Owner' },
        ...{ customer: { name: 'Ana', phone: recipient }, conversation: { id: conversation_id } },
        ...{ notification_id: ids[2], delivery: { id: second, state: 'failed' } },
        attention: { kind: 'failed', code: 'cannot_receive', reason: 'It did not work.', since },
      },
    );
    assert.equal(await counted(), 5);
    assert.equal((await inbox.page({ tab: 'answered' })).messages.length, 0);

    assert.equal((await shop.post(`/delivery/${first}/retry`)).status, 200);
    await shop.deskbell.allSent();
    assert.deepEqual(await listed(), [ids.toReversed(), [second]]);
    assert.equal((await sendAgain({ all: true })).count, 4);
    assert.ok(SENT.includes((await deliveryOf(second)).state));
    assert.equal(await counted(), 0);
  });

  it('are found and sent again as far as the filter goes, without a question by the newest of their conversation', async () => {
    const [mine, others, none] = [await shop.converse(), await shop.converse(), await shop.converse()];
    const zebra = await fail('X', { question: 'A zebra mug?', conversation_id: mine });
    const giraffe = await fail('X', { question: 'A giraffe mug?', conversation_id: others });
    const [about, another] = [await failWritten(mine), await failWritten(others)];
    const [alone, number] = [await failWritten(none), await fail()];
    await shop.put(`/notification/${zebra}/assignee`, { user_id: shop.owner.id });
    for (const filter of [{ q: 'zebra' }, { assigned: 'me' }])
      assert.deepEqual([await listed(filter), await counted(filter)], [[[zebra], [about]], 2]);
    assert.deepEqual(await listed({ assigned: 'none' }), [[number, giraffe], [another]]);
    assert.deepEqual(await listed({ type: 'user_support_request' }), [[], []]);
    const all = [
      [zebra, giraffe, number],
      [about, another, alone],
    ];
    assert.deepEqual(await listed({ sort: 'oldest' }), all);

    const dry = await sendAgain({ all: true, dry_run: true, q: 'zebra' });
    assert.deepEqual([dry.message, dry.count], ['2 messages would be queued again.', 2]);
    assert.equal(await counted(), 6);
    assert.equal((await sendAgain({ all: true, q: 'zebra' })).count, 2);
    assert.deepEqual(
      await listed({ sort: 'oldest' }),
      all.map((ids) => ids.slice(1)),
    );
    // Those without a number stay.
    const { count, skipped } = await sendAgain({ all: true });
    assert.deepEqual([count, skipped, await listed()], [3, 1, [[number], []]]);
    for (const body of [{}, { ids: [1], all: true }, { all: false }]) {
      const reply = await shop.post('/inbox/attention/send-again', body, { documented: false });
      assertError(reply, 422, 'VALIDATION_ERROR', 'body');
    }
  });

  it('are not all sent again if the customer may have them or does not want them', async () => {
    const conversation_id = await shop.converse();
    const kept = [await fail('131050', { conversation_id }), await fail('TIMEOUT', { conversation_id })];
    const unknown = await failWritten(conversation_id, 'NETWORK');
    await fail('X', { conversation_id });
    const { count, skipped, left_out } = await sendAgain({ all: true });
    assert.deepEqual([count, skipped, left_out], [1, 0, 3]);
    assert.deepEqual(await listed({ sort: 'oldest' }), [kept, [unknown]]);
    // One by one they can be.
    assert.equal((await sendAgain({ ids: kept })).count, 2);
  });

  it('are sent again once if people choose them at the same time, in another order', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await fail('X'));
    const orders = [ids, ids.toReversed(), ids];
    const replies = await Promise.all(orders.map((order) => sendAgain({ ids: order })));
    const sum = replies.reduce((total, { count }) => total + count, 0);
    assert.equal(sum, ids.length);
  });

  it('are seen, sent again and changed only by their own merchant', async () => {
    const [id, delivery] = [await fail('X'), await failWritten(shop.conversationId)];
    const { items, messages } = await inboxOf(other).page({ tab: 'attention' });
    assert.deepEqual([items, messages, (await inboxOf(other).counts()).attention.count], [[], [], 0]);
    const theirs = { token: await other.token() };
    assert.equal((await sendAgain({ all: true }, theirs)).count, 0);
    assert.deepEqual((await sendAgain({ ids: [id] }, theirs)).results, [{ id, result: 'not_found' }]);
    const foreign = await fix(`notification/${id}`, newPhone(), theirs);
    assertError(foreign, 404, 'NOTIFICATION_NOT_FOUND');
    assertError(await fix(`delivery/${delivery}`, newPhone(), theirs), 404, 'DELIVERY_NOT_FOUND');
    assert.deepEqual(await listed(), [[id], [delivery]]);
  });

  it('get a new number, which the next answer of the conversation uses too', async () => {
    const conversation = await shop.converse();
    const answered = async (lead_phone: string) => {
      const context = { question: 'Wrong number?', lead_phone };
      const id = await shop.raise({ conversation_id: conversation, context });
      await shop.answer(id);
      await shop.deskbell.allSent();
      return id;
    };
    const id = await answered('+34611009900');
    const path = `notification/${id}`;
    assertError(await fix(path, '+34611550142'), 409, 'CONFLICT');
    await setFailed('notification_id', id, '131026');
    for (const phone of ['nobody', 5]) assertError(await fix(path, phone), 422, 'VALIDATION_ERROR', 'phone');
    assert.equal(await stateOf(id), 'failed');
    assert.equal((await fix(path, '+34 611 55 01 42')).status, 200);
    assert.ok(await isSent(id));
    const [item] = (await inbox.page({ ids: String(id) })).items;
    const recipients = [item.delivery.recipient, item.customer.phone];
    assert.deepEqual([...recipients, item.attention], ['+34611550142', '+34611550142', null]);
    // The assistant still gives the wrong one.
    const next = await answered('0034 611 00 99 00');
    const [{ delivery: sent }] = (await inbox.page({ ids: String(next) })).items;
    assert.equal(sent.recipient, '+34611550142');
    const about = { notification_id: id };
    assert.deepEqual(await lastAudit('notification.recipient_changed'), [about, 'Olga Owner', []]);
  });

  it('without a question get a new number, which the conversation remembers and what else waits for it follows', async () => {
    const right = newPhone();
    const id = await shop.converse({ customer_phone: newPhone() });
    const [first, second] = [await failWritten(id), await failWritten(id)];
    const answered = await fail('131026', { conversation_id: id });
    const soon = { text: 'Soon.', undo_seconds: 60 };
    const waiting = (await shop.post(`/conversation/${id}/send`, soon)).json.delivery_id;
    const path = `delivery/${first}`;
    assertError(await fix(path, '12'), 422, 'VALIDATION_ERROR', 'phone');
    assert.equal((await deliveryOf(first)).state, 'failed');
    assert.deepEqual((await fix(path, right)).json, { message: 'The message is queued again.' });
    assert.ok(SENT.includes((await deliveryOf(first)).state));
    assertError(await fix(path, newPhone()), 409, 'CONFLICT');
    for (const delivery of [first, second, waiting])
      assert.equal((await deliveryOf(delivery)).recipient, right);
    const { items, messages } = await attention();
    const fixed = [answered, second].map((one) => `${one} failed number_fixed`);
    assert.deepEqual(listedAs([...items, ...messages]), fixed);
    assert.equal((await shop.get(`/conversation/${id}`)).json.customer_phone, right);
    const about = { delivery_id: first };
    assert.deepEqual(await lastAudit('delivery.recipient_changed'), [about, 'Olga Owner', []]);
  });

  it('are not those that were taken back: nobody can send them', async () => {
    const path = `/conversation/${shop.conversationId}`;
    const { delivery_id } = (await shop.post(`${path}/send`, { text: 'Oops', undo_seconds: 60 })).json;
    assert.equal((await shop.delete(`${path}/sent/${delivery_id}`)).status, 200);
    assert.equal((await shop.post('/delivery/retry', { state: 'cancelled' })).json.count, 0);
    assert.equal((await shop.post(`/delivery/${delivery_id}/retry`)).status, 409);
    assert.equal((await fix(`delivery/${delivery_id}`, newPhone())).status, 409);
    assert.equal((await deliveryOf(delivery_id)).state, 'cancelled');
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
  const goOn = () => shop.deskbell.database.run('delete from channel_stops');
  // Other suites send on the same server.
  afterEach(goOn);
  const listed = async () => listedAs((await inbox.page({ tab: 'attention', sort: 'oldest' })).items);

  it('need attention after ten minutes, with what they wait for, and start anew when they are sent again', async () => {
    const { clock } = shop.deskbell;
    clock.stop();
    const waiting: string[] = [];
    for (const [changes, code] of [
      ['', 'not_sent_yet'],
      [`state = 'waiting', waiting_for = 'limit'`, 'daily_limit'],
      [`state = 'waiting', waiting_for = 'customer'`, 'customer_must_write'],
      [`due_at = '9999-12-31T00:00:00.000Z'`, 'earlier_message'],
      [`last_code = 'HTTP_503'`, 'retrying'],
    ] as const)
      waiting.push(`${await put(changes)} waiting ${code}`);
    const failed = `${await put(`state = 'failed', last_code = 'HTTP_503'`)} failed gave_up`;
    await put(`state = 'read'`);
    assert.deepEqual(await listed(), [failed]);
    clock.jump(9 * MINUTE + 59);
    assert.deepEqual(await listed(), [failed]);
    const answered = (headers = {}) => shop.get('/inbox?tab=answered', { headers });
    const tag = (await answered()).headers.get('etag')!;
    clock.jump(1);
    assert.deepEqual(await listed(), [...waiting, failed]);
    // Only time has passed, but the list is another one.
    assert.equal((await answered({ 'if-none-match': tag })).status, 200);

    assert.equal((await shop.post('/inbox/attention/send-again', { all: true })).json.count, 1);
    assert.deepEqual(await listed(), waiting);
    clock.jump(10 * MINUTE);
    assert.equal((await listed()).length, waiting.length + 1);
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
    const stopped = ids.map((id) => `${id} stopped channel_stopped`);
    assert.deepEqual(await listed(), stopped);
    assert.deepEqual((await inbox.counts()).attention, { count: 2, more: false });
    await goOn();
    assert.deepEqual(await listed(), []);
    // One that does not answer is tried again soon.
    await stop('not_answering');
    assert.deepEqual(await listed(), []);
    clock.jump(10 * MINUTE);
    assert.equal((await listed())[0], `${ids[0]} waiting channel_not_answering`);
  });
});
