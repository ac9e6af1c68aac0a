import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { readConfig } from '../src/config.ts';
import type { SendResult } from '../src/delivery/channels/channel.ts';
import { createWebhook, type WebhookOptions } from '../src/delivery/channels/webhook/channel.ts';
import {
  isPublicAddress,
  publicLookup,
  type Resolve,
} from '../src/delivery/channels/webhook/publicAddress.ts';
import { signedHeaders } from '../src/delivery/channels/webhook/signature.ts';
import { isGenuine, type Receiver, startReceiver } from './receiver.ts';
import { FIRST, PHONE, TEXT } from './sending.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'test key').toString('base64')}`;
const now = () => new Date('2026-01-15T09:30:00.000Z');
const MESSAGE = {
  merchantId: FIRST,
  key: 'b1f0c2d4-0000-4000-8000-000000000001',
  deliveryId: 7,
  notificationId: 12,
  conversationId: 3,
  recipient: PHONE,
  mode: 'reply',
  content: TEXT,
  attempts: 1,
} as const;

const webhook = (url: string, options: WebhookOptions & { allowPrivate?: boolean } = {}) =>
  createWebhook({ url, secret: SECRET, allowPrivate: options.allowPrivate ?? true }, { now }, options);

describe('the webhook channel', () => {
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver.close());
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(204).end();
  });
  const send = (options?: WebhookOptions) => webhook(receiver.url, options).send(MESSAGE, 'text');

  it('signs as the specification’s published example does', () => {
    assert.deepEqual(
      signedHeaders('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {
        id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        at: new Date(1_614_265_330_000),
        body: '{"test": 2432232314}',
      }),
      {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
    );
  });

  it('posts the message, signed, with the time of the attempt', async () => {
    assert.deepEqual(await send(), { outcome: 'sent', messageId: undefined, state: 'sent' });
    const [call] = receiver.received;
    assert.equal(call?.method, 'POST');
    assert.equal(call?.path, '/hooks/deskbell');
    assert.equal(call?.headers['content-type'], 'application/json');
    assert.equal(call?.headers['webhook-id'], MESSAGE.key);
    assert.equal(call?.headers['webhook-timestamp'], String(now().getTime() / 1000));
    assert.ok(isGenuine(call!, SECRET));
    assert.deepEqual(call?.json, {
      type: 'message.send',
      timestamp: '2026-01-15T09:30:00.000Z',
      data: {
        delivery_id: 7,
        notification_id: 12,
        conversation_id: 3,
        recipient: PHONE,
        mode: 'reply',
        content: TEXT,
      },
    });
  });

  for (const [status, outcome] of [
    [200, 'sent'],
    [202, 'sent'],
    [400, 'failed'],
    [401, 'failed'],
    [404, 'failed'],
    [408, 'retry'],
    [409, 'retry'],
    [410, 'failed'],
    [422, 'failed'],
    [425, 'retry'],
    [429, 'retry'],
    [500, 'retry'],
    [503, 'retry'],
  ] as const) {
    it(`takes ${status} for ${outcome}`, async () => {
      receiver.answer = (response) => response.writeHead(status).end(`a page about ${TEXT}`);
      const result = await send();
      assert.equal(result.outcome, outcome);
      if ('code' in result) assert.equal(result.code, `HTTP_${status}`);
      if ('reason' in result) assert.match(result.reason, /^The receiving system .*\.$/);
    });
  }

  it('never follows a redirect', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      receiver.received.length = 0;
      receiver.answer = (response) => response.writeHead(status, { location: receiver.url }).end();
      const result = await send();
      assert.equal(result.outcome, 'failed');
      assert.match((result as { reason: string }).reason, /Redirects are not followed/);
      assert.equal(receiver.received.length, 1);
    }
  });

  it('honours Retry-After, for an hour at most', async () => {
    const afterSeconds = async (value: string) => {
      receiver.answer = (response) => response.writeHead(429, { 'retry-after': value }).end();
      return ((await send()) as { afterSeconds?: number }).afterSeconds;
    };
    assert.equal(await afterSeconds('120'), 120);
    assert.equal(await afterSeconds('0'), 1);
    assert.equal(await afterSeconds('86400'), 3600);
    assert.equal(await afterSeconds(new Date(now().getTime() + 90_000).toUTCString()), 90);
    assert.equal(await afterSeconds('Thu, 01 Jan 1970 00:00:00 GMT'), 1);
    assert.equal(await afterSeconds('soon'), undefined);
  });

  it('does not know what came of a call that was never answered', async () => {
    receiver.answer = () => {};
    assert.deepEqual(await send({ timeoutMs: 3000 }), { outcome: 'unknown', code: 'TIMEOUT' });
    receiver.answer = (response) => response.destroy();
    assert.equal((await send()).outcome, 'unknown');
  });

  it('believes the status of an answer that is too long or never ends', async () => {
    receiver.answer = (response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    };
    assert.equal((await send()).outcome, 'sent');
    receiver.answer = (response) => response.writeHead(503).write('wait');
    assert.equal((await send({ timeoutMs: 2000 })).outcome, 'retry');
  });

  it('tries again where nobody listens or the name is unknown', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as { port: number };
    free.close();
    const refused = await webhook(`http://127.0.0.1:${port}/`).send(MESSAGE, 'text');
    assert.deepEqual(refused, { outcome: 'retry', code: 'ECONNREFUSED' });
    const unknown: Resolve = (_host, _options, done) =>
      done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
    const lost = webhook('https://hooks.example/', { allowPrivate: false, resolve: unknown });
    assert.deepEqual(await lost.send(MESSAGE, 'text'), { outcome: 'retry', code: 'ENOTFOUND' });
    assert.match((await lost.check()) ?? '', /^hooks\.example: no such name/);
  });

  it('is named by its address without what may be secret in it', () => {
    const id = webhook('https://hooks.example/a?key=1').id;
    assert.match(id, /^webhook:[\da-f]{16}$/);
    assert.equal(webhook('https://hooks.example/a?key=2').id, id);
    assert.notEqual(webhook('https://hooks.example/b').id, id);
  });

  it('checks the connection and sends nothing', async () => {
    assert.equal(await webhook(receiver.url).check(), undefined);
    const plain = await webhook(receiver.url.replace('http:', 'https:')).check();
    assert.match(plain ?? '', /^127\.0\.0\.1: it cannot be connected to/);
    assert.match((await webhook(receiver.url, { allowPrivate: false }).check()) ?? '', /private network/);
    assert.equal(receiver.received.length, 0);
  });

  describe('keeps out of private networks', () => {
    const refused = (result: SendResult) =>
      assert.deepEqual({ ...result, reason: '' }, { outcome: 'failed', code: 'ADDRESS_REFUSED', reason: '' });

    it('whatever the address is written like', async () => {
      const hosts = [
        '127.0.0.1',
        '2130706433',
        '0x7f.1',
        '0177.0.0.1',
        '0.0.0.0',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '10.1.2.3',
        '169.254.169.254',
        '192.168.1.1',
        '[fd00::1]',
        '[fe80::1]',
      ];
      for (const host of hosts) {
        const channel = webhook(`http://${host}:${receiver.port}/`, { allowPrivate: false });
        refused(await channel.send(MESSAGE, 'text'));
      }
      assert.equal(receiver.received.length, 0);
    });

    it('when a name leads there', async () => {
      const local = webhook(`http://localhost:${receiver.port}/`, { allowPrivate: false });
      refused(await local.send(MESSAGE, 'text'));
      assert.match((await local.check()) ?? '', /^localhost: lies in a private network/);
      const allowed = webhook(`http://localhost:${receiver.port}/`);
      assert.equal((await allowed.send(MESSAGE, 'text')).outcome, 'sent');
      assert.equal(receiver.received.length, 1);
    });

    it('when a name begins to lead there after it was looked at', async () => {
      const answers = ['203.0.114.1', '127.0.0.1'];
      let looks = 0;
      const resolve: Resolve = (_host, _options, done) =>
        done(null, [{ address: answers[Math.min(looks++, 1)]!, family: 4 }]);
      const first = await new Promise((found) => {
        publicLookup(resolve)('rebound.example', {}, (_error, address) => found(address));
      });
      assert.equal(first, '203.0.114.1');
      const channel = webhook(`http://rebound.example:${receiver.port}/`, { allowPrivate: false, resolve });
      refused(await channel.send(MESSAGE, 'text'));
      // One look for the connection, which goes to what was looked at.
      assert.equal(looks, 2);
      assert.equal(receiver.received.length, 0);
    });

    it('and knows which those are', () => {
      const inside =
        '0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.1.2.3 169.254.1.1 172.16.0.1 172.31.255.255 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 2001:0:7f00:1:: fc00::1 fdff::1 fe80::1%eth0 fec0::1 ff02::1 nonsense';
      const outside =
        '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.169.0.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450:4001::1';
      assert.deepEqual(inside.split(' ').filter(isPublicAddress), []);
      assert.deepEqual(
        outside.split(' ').filter((address) => !isPublicAddress(address)),
        [],
      );
    });
  });

  it('is set up with good settings or not at all', () => {
    const settings = { CHANNEL: 'webhook', WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET };
    assert.equal(readConfig(settings).channel.webhook?.allowPrivate, false);
    assert.throws(() => readConfig({ ...settings, WEBHOOK_SECRET: 'whsec_short' }), /^Error: WEBHOOK_SECRET/);
    assert.throws(() => readConfig({ ...settings, WEBHOOK_URL: 'ftp://hooks.example' }), /WEBHOOK_URL/);
  });
});
