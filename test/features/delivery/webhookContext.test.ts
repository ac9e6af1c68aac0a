import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';

/** JSON.stringify would not write it like this: key order, numbers beyond 2^53, escapes, spaces. */
const CONTEXT =
  '{ "question": "Is it \\u00e9 or é?", "z": 1, "a": 12345678901234567890, "n": 1.0, "e": 1E400, "10": [ ], "2": {"b":null,"a":-0}}';

onEachEngine('the context that a receiver gets with a message', (engine) => {
  let receiver: Receiver;
  let deskbell: Deskbell;
  before(async () => {
    receiver = await startReceiver();
    deskbell = await startDeskbell(engine, webhookEnv(receiver));
    deskbell.clock.stop();
  });
  after(async () => {
    await deskbell?.close();
    await receiver?.close();
  });

  it('is in the body, byte for byte, and the same in every attempt, even if the notification is deleted', async () => {
    const token = await deskbell.signIn();
    const [conversation] = await deskbell.database.run<{ id: number }>(
      `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
        values (1, 'ticket-4711', 'Ana', '+34611550177', $1, $1) returning id`,
      [deskbell.clock.now().toISOString()],
    );
    const conversationId = conversation!.id;
    const raised = await deskbell.call('POST', '/api/v1/notification/request', {
      token,
      body: `{"notification_type":"user_question_request","conversation_id":${conversationId},"context":${CONTEXT}}`,
    });
    assert.equal(raised.status, 200, raised.text);
    const address = raised.headers.get('location')!;

    receiver.answer = (response) => response.writeHead(503).end();
    const answeredAt = deskbell.clock.now().toISOString();
    const answered = await deskbell.call('POST', `${address}/answer`, {
      token,
      body: { answer: 'It is é.' },
    });
    assert.equal(answered.status, 200, answered.text);
    await deskbell.allSent();
    assert.equal((await deskbell.call('DELETE', address, { token })).status, 200);
    assert.equal((await deskbell.call('GET', address, { token })).status, 404);

    receiver.answer = (response) => response.writeHead(204).end();
    await deskbell.clock.advance(60);
    await deskbell.allSent();
    assert.equal(receiver.received.length, 2);
    const [first, second] = receiver.received.map(({ body }) => body);
    assert.equal(first, second);
    const { delivery_id } = JSON.parse(first!).data;
    const notificationId = Number(address.split('/').at(-1));
    assert.equal(
      first,
      `{"type":"message.send","timestamp":"${answeredAt}","data":{"delivery_id":${delivery_id},` +
        `"notification_id":${notificationId},"conversation_id":${conversationId},"reference":"ticket-4711",` +
        `"recipient":"+34611550177","mode":"reply","content":"It is é.","context":${CONTEXT}}}`,
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  });
});
