import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import { WEBHOOK } from '../../../src/delivery/channels/registry.ts';
import { openWebhook } from '../../../src/delivery/channels/webhook/channel.ts';
import { resumeChannels } from '../../../src/delivery/worker/stops.ts';
import { isGenuine, type Receiver, startReceiver } from '../../support/receiver.ts';
import { FIRST, PHONE, type Sending, startSending, TEXT } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';

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
    sending.clock.stop();
  });
  after(async () => {
    await sending?.close();
    await receiver.close();
  });
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(204).end();
  });

  it('keep their id and their bytes in retries, with a new signature each time', async () => {
    const statuses = [503, 429, 200];
    receiver.answer = (response) => response.writeHead(statuses[receiver.received.length - 1]!).end();
    const id = await sending.put(FIRST);
    await sending.settle();
    assert.equal((await sending.row(id)).state, 'queued');
    await sending.settle(10);
    await sending.settle(400);
    const { key, state, attempts } = await sending.row(id);
    assert.deepEqual([state, attempts], ['sent', 3]);
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['webhook-id']),
      [key, key, key],
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 3);
    assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1);
    for (const call of receiver.received) assert.ok(isGenuine(call, SECRET));
  });

  it('survive a bad deploy of the receiver: 401, 403 and 404 are retried', async () => {
    const statuses = [404, 401, 403, 200];
    receiver.answer = (response) => response.writeHead(statuses[receiver.received.length - 1]!).end();
    const id = await sending.put(FIRST);
    await sending.settle();
    const { state, reason, last_code } = await sending.row(id);
    assert.deepEqual(
      [state, reason, last_code],
      ['queued', 'The receiving system has nothing at this address.', 'HTTP_404'],
    );
    for (const seconds of [10, 400, 2400]) await sending.settle(seconds);
    assert.equal((await sending.row(id)).state, 'sent');
    assert.equal(receiver.received.length, 4);
  });

  it('reach one customer in order, even if the first takes long', async () => {
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

  it('wait after 410 until the channel is resumed', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    const first = await sending.put(FIRST);
    await sending.settle();
    const second = await sending.put(FIRST, { recipient: '+3545550102' });
    await sending.settle(7 * 86_400);
    assert.equal(receiver.received.length, 1);
    for (const [id, code] of [
      [first, 'HTTP_410'],
      // The merchant's queue is paused, so this one was not attempted.
      [second, null],
    ] as const) {
      const { state, last_code, attempts } = await sending.row(id);
      assert.deepEqual([state, last_code, attempts], ['queued', code, 0]);
    }
    receiver.answer = (response) => response.writeHead(200).end();
    await sending.database.transaction((tx) => resumeChannels(tx, sending.clock.now()));
    await sending.settle();
    for (const id of [first, second]) assert.equal((await sending.row(id)).state, 'sent');
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

onEachEngine('a message whose receiver does not answer', (engine) => {
  it('is sent again with the same id', async () => {
    const receiver = await startReceiver();
    // While it answers, only a long time-out does not depend on the speed of the machine.
    let isSilent = true;
    const sending = await startSending(engine, {
      channel: (time) => {
        const open = (timeoutMs: number) =>
          openWebhook(
            { url: receiver.url, secret: SECRET, allowPrivate: true },
            { now: time },
            { timeoutMs },
          );
        const [short, long] = [open(2000), open(10_000)];
        return { type: WEBHOOK, ...long, send: (...args) => (isSilent ? short : long).send(...args) };
      },
    });
    sending.clock.stop();
    try {
      receiver.answer = () => {};
      const id = await sending.put(FIRST);
      await sending.settle();
      assert.deepEqual(
        [(await sending.row(id)).state, (await sending.row(id)).last_code],
        ['queued', 'TIMEOUT'],
      );
      receiver.answer = (response) => response.writeHead(200).end();
      isSilent = false;
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
