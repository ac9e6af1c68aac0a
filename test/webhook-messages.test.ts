import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import { createWebhook } from '../src/delivery/channels/webhook/channel.ts';
import { onEachEngine } from './harness.ts';
import { isGenuine, type Receiver, startReceiver } from './receiver.ts';
import { FIRST, PHONE, type Sending, startSending, TEXT } from './sending.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'test key').toString('base64')}`;

onEachEngine('messages by webhook', (engine) => {
  let receiver: Receiver;
  let sending: Sending;
  before(async () => {
    receiver = await startReceiver();
    sending = await startSending(engine, {
      settings: {
        CHANNEL: 'webhook',
        WEBHOOK_URL: receiver.url,
        WEBHOOK_SECRET: SECRET,
        WEBHOOK_ALLOW_PRIVATE: 'true',
      },
    });
  });
  after(async () => {
    await sending?.close();
    await receiver.close();
  });
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(204).end();
  });

  it('keep their id over retries, each with its own time and signature', async () => {
    const statuses = [503, 429, 200];
    receiver.answer = (response) => response.writeHead(statuses[receiver.received.length - 1]!).end();
    const id = await sending.put(FIRST);
    await sending.settle();
    assert.equal((await sending.row(id)).state, 'queued');
    await sending.settle(60);
    await sending.settle(60);
    const { key, state, attempts } = await sending.row(id);
    assert.deepEqual([state, attempts], ['sent', 3]);
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['webhook-id']),
      [key, key, key],
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 3);
    for (const call of receiver.received) assert.ok(isGenuine(call, SECRET));
  });

  it('reach one customer in their order, however long the first takes', async () => {
    receiver.answer = (response, { json }) =>
      response.writeHead(json.data.content === 'one' && receiver.received.length === 1 ? 500 : 200).end();
    for (const content of ['one', 'two', 'three']) await sending.put(FIRST, { content });
    await sending.settle();
    await sending.settle(60);
    assert.deepEqual(
      receiver.received.map(({ json }) => json.data.content),
      ['one', 'one', 'two', 'three'],
    );
  });

  it('wait as long as the receiver asks them to', async () => {
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '600' }).end();
    const id = await sending.put(FIRST);
    await sending.settle(0);
    await sending.settle(590);
    assert.equal(receiver.received.length, 1);
    receiver.answer = (response) => response.writeHead(200).end();
    await sending.settle(20);
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('fail with a reason for the merchant, and let the next one pass', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    const gone = await sending.put(FIRST);
    await sending.settle();
    assert.deepEqual(
      { ...(await sending.row(gone)), key: '', due_at: '' },
      {
        key: '',
        due_at: '',
        state: 'failed',
        reason: 'The receiving system takes no more messages at this address.',
        attempts: 1,
        last_code: 'HTTP_410',
      },
    );
    receiver.answer = (response) => response.writeHead(200).end();
    const next = await sending.put(FIRST);
    await sending.settle();
    assert.equal((await sending.row(next)).state, 'sent');
  });

  it('leave no secret, number or text in the log', async () => {
    receiver.answer = (response) => response.destroy();
    await sending.put(FIRST, { recipient: '+3545550199' });
    await sending.settle();
    receiver.answer = (response) => response.writeHead(200).end();
    await sending.settle(60);
    const log = sending.logged.join('');
    for (const secret of [SECRET.slice(6), PHONE, '5550199', TEXT]) assert.ok(!log.includes(secret), log);
  });
});

onEachEngine('a message whose receiver falls silent', (engine) => {
  it('is sent again under the same id', async () => {
    const receiver = await startReceiver();
    const sending = await startSending(engine, {
      channel: (time) =>
        createWebhook(
          { url: receiver.url, secret: SECRET, allowPrivate: true },
          { now: time },
          { timeoutMs: 2000 },
        ),
    });
    try {
      receiver.answer = () => {};
      const id = await sending.put(FIRST);
      await sending.settle();
      assert.deepEqual(
        [(await sending.row(id)).state, (await sending.row(id)).last_code],
        ['queued', 'TIMEOUT'],
      );
      receiver.answer = (response) => response.writeHead(200).end();
      await sending.settle(60);
      assert.equal((await sending.row(id)).state, 'sent');
      const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
      assert.equal(ids.length, 2);
      assert.equal(new Set(ids).size, 1);
    } finally {
      await sending.close();
      await receiver.close();
    }
  });
});
