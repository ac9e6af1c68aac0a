import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { newMerchant } from '../../support/merchants.ts';
import { isGenuine, webhookEnv } from '../../support/receiver.ts';
import { PHONE } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';
import { AURORA_ID, accept, putAll, refuse, useReceiver } from '../../support/shops.ts';

/** JSON.stringify would not write it like this: key order, numbers beyond 2^53, escapes, spaces. */
const CONTEXT =
  '{ "question": "Is it \\u00e9 or é?", "z": 1, "a": 12345678901234567890, "n": 1.0, "e": 1E400, "10": [ ], "2": {"b":null,"a":-0}}';

onEachEngine('messages by webhook', (engine) => {
  const { deskbell, receiver } = useReceiver(engine);
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = accept;
  });
  const put = async (recipient = PHONE) =>
    (await putAll(deskbell, [{ merchantId: AURORA_ID, recipient, content: 'Our decaf.' }]))[0]!;
  const later = async (seconds = 0) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  const row = async (id: number) =>
    (await deskbell.database.one<Record<string, unknown>>('select * from deliveries where id = $1', [id]))!;

  it('keep their id and their bytes in retries, with a new signature each time, when the receiver asks for them', async () => {
    const statuses = [429, 404, 200];
    receiver.answer = (response) => response.writeHead(statuses.shift()!, { 'retry-after': '600' }).end();
    const id = await put();
    await later();
    await later(590);
    assert.deepEqual([(await row(id)).state, receiver.received.length], ['queued', 1]);
    await later(20);
    await later(400);
    const { key, state, attempts } = await row(id);
    assert.deepEqual([state, attempts], ['sent', 3]);
    const { WEBHOOK_SECRET } = webhookEnv(receiver);
    for (const call of receiver.received) {
      assert.deepEqual([call.headers['webhook-id'], call.body], [key, receiver.received[0]!.body]);
      assert.ok(isGenuine(call, WEBHOOK_SECRET));
    }
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 3);
  });

  it('are not tried sooner than their pause says, however soon the receiver wants them', async () => {
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '1' }).end();
    const id = await put();
    await later();
    for (const seconds of [6, 60, 60]) await later(seconds);
    // 5 and 300 seconds: without them, all attempts would be used up in seconds.
    assert.deepEqual([(await row(id)).state, receiver.received.length], ['queued', 2]);
    receiver.answer = accept;
    await later(300);
    assert.equal((await row(id)).state, 'sent');
  });

  it('have the context of the question byte for byte, even if it is deleted before a retry', async () => {
    const shop = await newMerchant(deskbell);
    const reference = 'ticket-4711';
    const conversation = await shop.converse({ reference, customer_phone: '+34611550177' });
    const { headers } = await shop.post(
      '/notification/request',
      `{"notification_type":"user_question_request","conversation_id":${conversation},"context":${CONTEXT}}`,
    );
    const question = Number(headers.get('location')!.split('/').at(-1));
    receiver.answer = refuse;
    assert.equal((await shop.answer(question, 'It is é.')).status, 200);
    const answeredAt = deskbell.clock.now().toISOString();
    await later();
    assert.equal((await shop.delete(`/notification/${question}`)).status, 200);
    receiver.answer = accept;
    await later(60);
    assert.equal(receiver.received.length, 2);
    for (const { body, json } of receiver.received) {
      assert.equal(
        body,
        `{"type":"message.send","timestamp":"${answeredAt}","data":{"delivery_id":${json.data.delivery_id},` +
          `"notification_id":${question},"conversation_id":${conversation},"reference":"${reference}",` +
          `"recipient":"+34611550177","mode":"reply","content":"It is é.","context":${CONTEXT}}}`,
      );
    }
  });

  it('leave no secret, number or text in the log', async () => {
    receiver.answer = (response) => void response.destroy();
    await put('+3545550199');
    await later();
    receiver.answer = accept;
    await later(60);
    assert.equal(receiver.received.length, 2);
    const log = deskbell.logged.join('');
    const { WEBHOOK_SECRET } = webhookEnv(receiver);
    for (const secret of [WEBHOOK_SECRET.slice(6), PHONE, '5550199', 'decaf'])
      assert.ok(!log.includes(secret));
  });
});
