import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { assertError, type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { talkingOf } from '../../support/talking.ts';

const VEGAN = { from: 'customer', text: 'Is it vegan?' };

onEachEngine('an answer that quotes the customer', (engine) => {
  const shop = useMerchant(engine);
  const { record, turns, question } = talkingOf(shop);

  it('has the message that the customer wrote in this conversation, and no other', async () => {
    const [id, another] = [await shop.converse(), await shop.converse()];
    for (const one of [id, another]) await record(one, VEGAN, { from: 'assistant', text: 'Hm.' });
    const asked = await question(id, 'And without sugar?');
    const [, assistants] = await turns(id);
    const [theirs] = await turns(another);
    for (const reply_to of [theirs!.id, assistants!.id, 'm999999', `n${asked}`, 'x', 5])
      for (const undo_seconds of [0, 5]) {
        const reply = await shop.answer(asked, { answer: 'Yes.', undo_seconds, reply_to });
        assertError(reply, 500, 'VALIDATION_ERROR', 'reply_to');
      }
    assert.equal((await shop.get(`/notification/${asked}`)).json.status, 'requested');
  });

  it('is sent as a quote, also if it could be undone first', async () => {
    for (const undo_seconds of [0, 5]) {
      const id = await shop.converse();
      await record(id, VEGAN);
      const [mine] = await turns(id);
      const asked = await question(id, 'And without sugar?');
      await shop.answer(asked, { answer: 'Yes, it is.', reply_to: mine!.id, undo_seconds });
      shop.deskbell.clock.jump(undo_seconds + 1);
      await until('it is sent', async () => (await turns(id)).at(-1)!.text === 'Yes, it is.');
      assert.deepEqual((await turns(id)).at(-1)!.reply_to, { id: mine!.id, text: 'Is it vegan?' });
    }
  });
});

describe('an answer that quotes the customer, over a webhook', () => {
  let receiver: Receiver;
  let deskbell: Deskbell;
  before(async () => {
    receiver = await startReceiver();
    deskbell = await startDeskbell('sqlite', webhookEnv(receiver));
  });
  after(async () => {
    await deskbell?.close();
    await receiver?.close();
  });

  it('tells the receiver the id that the message has there, if it has one', async () => {
    const shop = await newMerchant(deskbell);
    const { record, turns, question } = talkingOf(shop);
    for (const message_id of [null, 'msg-1']) {
      const id = await shop.converse();
      await record(id, { ...VEGAN, ...(message_id && { message_id }) });
      const [mine] = await turns(id);
      await shop.answer(await question(id, 'And without sugar?'), { answer: 'Yes.', reply_to: mine!.id });
      await deskbell.allSent();
      assert.equal(receiver.received.at(-1)!.json.data.reply_to ?? null, message_id);
    }
    assert.equal(receiver.received.length, 2);
  });
});
