import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine } from '../../support/server.ts';
import { said, talkingOf } from '../../support/talking.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const DAY_MS = 24 * 60 * 60_000;

onEachEngine('writing to a customer', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const { turns, send, record } = talkingOf(shop);
  const phoneMessages = async (id: number) =>
    (await shop.get(`/simulator/${id}`)).json.map(({ text }: { text: string }) => text);
  const takeBack = (id: number, delivery: unknown, options?: CallOptions) =>
    shop.delete(`/conversation/${id}/sent/${delivery}`, options);
  afterEach(() => shop.deskbell.clock.go());

  it('sends to the conversation’s customer, whatever else the body says, in the order of writing', async () => {
    const [id, another] = [await shop.converse(), await shop.converse()];
    const foreign = newPhone();
    for (const text of ['One', 'Two', 'Three']) {
      const body = { text, recipient: foreign, lead_phone: foreign, conversation_id: another };
      assert.equal((await send(id, body)).status, 200);
    }
    await shop.deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['One', 'Two', 'Three']);
    assert.deepEqual(await phoneMessages(another), []);
    const [last] = (await shop.get('/delivery/?limit=1')).json;
    assert.deepEqual([last.notification_id, last.mode, last.content], [null, 'reply', 'Three']);
  });

  it('waits for undo_seconds, and until then can be taken back as if it had never been', async () => {
    const { clock, allSent } = shop.deskbell;
    clock.stop();
    const id = await shop.converse();
    const { json: undone } = await send(id, { text: 'Oops', undo_seconds: 5 });
    const { json: kept } = await send(id, { text: 'Kept', undo_seconds: 5 });
    const until = new Date(clock.now().getTime() + 5000).toISOString();
    assert.deepEqual([undone.undo_until, kept.undo_until], [until, until]);
    await allSent();
    for (const { delivery } of await turns(id))
      assert.deepEqual([delivery!.state, delivery!.undo_until], ['queued', until]);
    // An assistant might pass on what is then taken back.
    const key = { token: await shop.key() };
    const seen = async (part: 'timeline' | 'messages', options?: CallOptions) =>
      (await shop.get(`/conversation/${id}/${part}`, options)).text;
    const parts = ['timeline', 'messages'] as const;
    for (const part of parts) assert.doesNotMatch(await seen(part, key), /Oops|Kept/, part);
    assert.equal((await takeBack(id, undone.delivery_id)).status, 200);
    assert.deepEqual(said(await turns(id)), ['merchant: Kept']);
    assert.doesNotMatch(await seen('messages'), /Oops/);
    await clock.advance(4);
    await allSent();
    assert.deepEqual(await phoneMessages(id), []);
    await clock.advance(2);
    await allSent();
    assert.deepEqual(await phoneMessages(id), ['Kept']);
    for (const part of parts) assert.match(await seen(part, key), /Kept/, part);
    for (const { delivery_id } of [kept, undone])
      assertError(await takeBack(id, delivery_id), 409, 'TOO_LATE');
  });

  it('is not overtaken while it waits, and what comes after it is sent when it is taken back', async () => {
    shop.deskbell.clock.stop();
    const id = await shop.converse();
    const { json: first } = await send(id, { text: 'First', undo_seconds: 60 });
    await send(id, { text: 'Second' });
    await shop.deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), []);
    await takeBack(id, first.delivery_id);
    await shop.deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['Second']);
  });

  it('can be taken back only in its own conversation, and never an answer', async () => {
    const [id, another] = [await shop.converse(), await shop.converse()];
    const { delivery_id } = (await send(id, { text: 'Mine', undo_seconds: 60 })).json;
    assertError(await takeBack(another, delivery_id), 404, 'DELIVERY_NOT_FOUND');
    const foreign = await takeBack(id, delivery_id, { token: await other.token() });
    assertError(foreign, 404, 'DELIVERY_NOT_FOUND');
    assert.equal((await takeBack(id, delivery_id)).status, 200);
    await shop.deskbell.database.run(
      `update deliveries set notification_id = 1, state = 'queued' where id = $1`,
      [delivery_id],
    );
    assertError(await takeBack(id, delivery_id), 404, 'DELIVERY_NOT_FOUND');
  });

  it('quotes a message that the customer wrote in this conversation, and no other', async () => {
    const [id, another] = [await shop.converse(), await shop.converse()];
    for (const one of [id, another])
      await record(one, { from: 'customer', text: 'Is it vegan?' }, { from: 'assistant', text: 'Hm.' });
    const [mine, assistants] = await turns(id);
    const [theirs] = await turns(another);
    for (const reply_to of [theirs!.id, assistants!.id, 'm999999', 'n1', 'x'])
      assertError(await send(id, { text: 'Yes', reply_to }), 422, 'VALIDATION_ERROR', 'reply_to');
    assert.equal((await send(id, { text: 'Yes', reply_to: mine!.id })).status, 200);
    assert.deepEqual((await turns(id)).at(-1)!.reply_to, { id: mine!.id, text: 'Is it vegan?' });
  });

  it('is refused without a valid number or text, and in another merchant’s conversation', async () => {
    const id = await shop.converse({ reference: 'no-number', customer_phone: '' });
    assertError(await send(id, { text: 'Hi' }), 409, 'CONFLICT');
    const foreign = await send(id, { text: 'Hi' }, { token: await other.token() });
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    for (const text of [undefined, ' \n', 5, 'x'.repeat(4097)])
      assertError(await send(id, { text }), 422, 'VALIDATION_ERROR', 'text');
    for (const undo_seconds of [-1, 61, 1.5, '5'])
      assertError(await send(id, { text: 'Hi', undo_seconds }), 422, 'VALIDATION_ERROR', 'undo_seconds');
    assert.equal((await send(shop.conversationId, { text: '😀'.repeat(4096) })).status, 200);
  });
});

describe('writing to a customer over WhatsApp', () => {
  const whatsapp = useWhatsApp('sqlite');
  /** A conversation whose customer has just written. */
  async function talk() {
    const { meta, deskbell } = whatsapp;
    const shop = await newMerchant(deskbell);
    const phone = newPhone();
    const id = await shop.converse({ customer_phone: phone });
    const customerWrites = () => whatsapp.customerWrites(phone, { text: { body: 'Is it vegan?' } });
    const windowOf = async () => (await shop.get(`/conversation/${id}`)).json.window_open_until;
    return { ...talkingOf(shop), id, phone, customerWrites, windowOf, last: () => meta.accepted.at(-1)! };
  }

  it('is free text within 24 hours of the customer’s message, which it can quote', async () => {
    const { id, customerWrites, turns, send, last } = await talk();
    await customerWrites();
    const [asked] = await turns(id);
    await send(id, { text: 'It is.', reply_to: asked!.id });
    await whatsapp.quiet();
    const { message_id } = (await whatsapp.deskbell.database.one<{ message_id: string }>(
      'select message_id from conversation_messages where conversation_id = $1',
      [id],
    ))!;
    assert.match(message_id, /^wamid\./);
    assert.deepEqual(last().body.context, { message_id });
    assert.equal((await turns(id)).at(-1)!.delivery!.state, 'sent');
  });

  it('is refused when the window is closed, with the time of the customer’s last message', async () => {
    const { id, phone, customerWrites, windowOf, timeline, send } = await talk();
    const { database, clock } = whatsapp.deskbell;
    // To another number of ours.
    const toAnother = `insert into customer_windows (channel_id, phone, opened_at) values ('whatsapp:999999', $1, $2)`;
    await database.run(toAnother, [phone, clock.now().toISOString()]);
    assert.deepEqual([(await timeline(id)).sending, await windowOf()], ['closed', null]);
    const never = await send(id, { text: 'Hello?' });
    assertError(never, 409, 'WINDOW_CLOSED');
    assert.match(never.json.detail, /has not written yet/);
    await customerWrites();
    const wroteAt = new Date(Math.floor(clock.now().getTime() / 1000) * 1000).toISOString();
    assert.equal((await timeline(id)).sending, 'text');
    assert.equal(Date.parse(await windowOf()), Date.parse(wroteAt) + DAY_MS);
    await whatsapp.later(DAY_MS / 1000);
    const closed = await send(id, { text: 'Hello?' });
    assertError(closed, 409, 'WINDOW_CLOSED');
    assert.ok(closed.json.detail.includes(wroteAt), closed.json.detail);
    assert.equal(await windowOf(), null);
    assert.ok((await timeline(id)).items.every(({ from }) => from !== 'merchant'));
  });
});
