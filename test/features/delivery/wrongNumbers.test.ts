import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { newPhone } from '../../support/whatsapp.ts';

onEachEngine('a number that somebody has fixed', (engine) => {
  const shop = useMerchant(engine);

  let count = 0;
  const newConversation = async (customer_phone: string, reference = `fixed-${++count}`) =>
    (await shop.post('/conversation/', { reference, customer_name: 'Lucía', customer_phone })).json;
  const phoneOf = async (id: number) => (await shop.get(`/conversation/${id}`)).json.customer_phone;
  const ask = (conversation_id: number, lead_phone?: string) =>
    shop.raise({
      ...{ notification_type: 'user_question_request', conversation_id },
      context: { question: `Which one, ${++count}?`, ...(lead_phone === undefined ? {} : { lead_phone }) },
    });
  /** An answered question, whose message is in this state. */
  const answered = async (conversationId: number, lead_phone?: string, state = 'failed') => {
    const id = await ask(conversationId, lead_phone);
    await shop.answer(id, 'This one.');
    await shop.deskbell.allSent();
    await setState(id, state);
    return id;
  };
  const setState = (id: number, state: string) =>
    shop.deskbell.database.run(
      `update deliveries set state = $2, last_code = '131026', due_at = '2099-01-01T00:00:00.000Z' where notification_id = $1`,
      [id, state],
    );
  const fix = async (id: number, phone: string) => {
    const reply = await shop.post(`/notification/${id}/recipient`, { phone });
    assert.equal(reply.status, 200, reply.text);
    await shop.deskbell.allSent();
  };
  const itemOf = async (id: number) => (await shop.get(`/inbox?ids=${id}`)).json.items[0];
  const deliveryOf = async (id: number) => (await itemOf(id)).delivery;
  /** Where the answer to a new question of the conversation goes. */
  const nextGoesTo = async (conversationId: number, lead_phone?: string) =>
    (await deliveryOf(await answered(conversationId, lead_phone))).recipient;

  it('is used for the other messages of the conversation, but not for what was sent or is being sent', async () => {
    const [wrong, right, other] = [newPhone(), newPhone(), newPhone()];
    const { id } = await newConversation(wrong);
    const [first, second] = [await answered(id), await answered(id)];
    const [sent, sending] = [await answered(id, wrong, 'sent'), await answered(id, wrong, 'sending')];
    const [queued, waiting] = [await answered(id, wrong, 'queued'), await answered(id, wrong, 'waiting')];
    const elsewhere = await answered((await newConversation(wrong)).id);
    const another = await answered(id, other);
    await fix(first, right);
    for (const [one, recipient] of [
      [first, right],
      [second, right],
      [queued, right],
      [waiting, right],
      [sent, wrong],
      [sending, wrong],
      [elsewhere, wrong],
      [another, other],
    ] as const)
      assert.equal((await deliveryOf(one)).recipient, recipient);
    const { attention } = await itemOf(second);
    assert.deepEqual([attention.kind, attention.code], ['failed', 'number_fixed']);
    await shop.post('/inbox/attention/send-again', { ids: [second] });
    await shop.deskbell.allSent();
    for (const one of [first, second]) assert.equal((await deliveryOf(one)).state, 'delivered');
  });

  it('leaves no message of the old or the new number behind', async () => {
    shop.deskbell.clock.stop();
    const [wrong, right] = [newPhone(), newPhone()];
    const { id } = await newConversation(wrong);
    const other = await newConversation(wrong);
    const failed = await answered(id);
    const send = async (conversationId: number, text: string, undo_seconds: number) =>
      (await shop.post(`/conversation/${conversationId}/send`, { text, undo_seconds })).json.delivery_id;
    // The second waits behind the first, and the third, of another conversation, behind both.
    const ids = [await send(id, 'First', 60), await send(id, 'Second', 0), await send(other.id, 'Third', 0)];
    await shop.deskbell.allSent();
    await fix(failed, right);
    for (const [seconds, state] of [
      [0, 'queued'],
      [60, 'delivered'],
    ] as const) {
      await shop.deskbell.clock.advance(seconds);
      await shop.deskbell.allSent();
      const rows = await shop.deskbell.database.all<{ state: string; recipient: string }>(
        `select state, recipient from deliveries where id in (${ids.join()}) order by id`,
      );
      assert.deepEqual(
        rows.map((row) => [row.state, row.recipient]),
        [
          [state, right],
          [state, right],
          ['delivered', wrong],
        ],
      );
    }
    shop.deskbell.clock.go();
  });

  it('is used for an answer that could still be undone when it was fixed', async () => {
    const { clock } = shop.deskbell;
    clock.stop();
    const [wrong, right] = [newPhone(), newPhone()];
    const { id } = await newConversation(wrong);
    const failed = await answered(id, wrong);
    const held = [await ask(id, wrong), await ask(id)];
    for (const one of held)
      await shop.post(`/notification/${one}/answer`, { answer: 'This one.', undo_seconds: 5 });
    await fix(failed, right);
    await clock.advance(61);
    for (const one of held) {
      await until('it is released', async () => (await deliveryOf(one)) !== null);
      assert.equal((await deliveryOf(one)).recipient, right);
    }
    clock.go();
  });

  it('can be fixed again, and all that turned out to be wrong are known', async () => {
    const [wrong, typo, right] = [newPhone(), newPhone(), newPhone()];
    const { id } = await newConversation(wrong);
    const first = await answered(id, wrong);
    await fix(first, typo);
    await setState(first, 'failed');
    await fix(first, right);
    assert.equal(await phoneOf(id), right);
    for (const given of [wrong, typo, undefined]) assert.equal(await nextGoesTo(id, given), right);
    // It was right after all.
    await fix(await answered(id), typo);
    for (const given of [wrong, typo, right]) assert.equal(await nextGoesTo(id, given), typo);
  });

  it('of one question leaves the customer’s own number alone', async () => {
    const [own, wrong, right] = [newPhone(), newPhone(), newPhone()];
    const { id } = await newConversation(own);
    await fix(await answered(id, wrong), right);
    assert.equal(await phoneOf(id), own);
    assert.equal(await nextGoesTo(id), own);
    assert.equal(await nextGoesTo(id, wrong), right);
    // Without a number, the customer gets it.
    const unknown = await newConversation('');
    await fix(await answered(unknown.id, wrong), right);
    assert.equal(await phoneOf(unknown.id), right);
  });

  it('is the customer’s for an assistant that still has the wrong one', async () => {
    const [wrong, right] = [newPhone(), newPhone()];
    const { id, reference } = await newConversation(wrong);
    await fix(await answered(id), right);
    const asked = async (customer: object) => {
      const reply = await shop.post('/ask', { question: `Is it there, ${++count}?`, customer });
      assert.equal(reply.status, 200, reply.text);
      return reply.json.conversation_id;
    };
    for (const customer of [{ reference, phone: wrong }, { phone: wrong }, { phone: right }])
      assert.equal(await asked(customer), id);
    assert.equal((await newConversation(wrong, reference)).customer_phone, right);
    assert.equal(await phoneOf(id), right);
    assert.equal(await nextGoesTo(id, wrong), right);
    // Another number is still another one.
    const customer = { reference, phone: newPhone() };
    const refused = await shop.post('/ask', { question: 'And this one?', customer });
    assertError(refused, 422, 'VALIDATION_ERROR', 'customer.phone');
    // A customer whose own number it is stays that customer.
    const own = await newConversation(wrong);
    assert.equal(await asked({ phone: wrong }), own.id);
    const moved = newPhone();
    assert.equal((await newConversation(moved, reference)).customer_phone, moved);
  });
});
