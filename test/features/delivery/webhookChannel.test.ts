import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { readConfig } from '../../../src/config.ts';
import type { SendResult } from '../../../src/delivery/channels/channel.ts';
import { openWebhook, type WebhookOptions } from '../../../src/delivery/channels/webhook/channel.ts';
import {
  isPublicAddress,
  publicLookup,
  type Resolve,
} from '../../../src/delivery/channels/webhook/publicAddress.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { PHONE, TEXT } from '../../support/sending.ts';
import { AURORA_ID } from '../../support/shops.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'test key').toString('base64')}`;
const now = () => new Date('2026-01-15T09:30:00.000Z');
const MESSAGE = {
  merchantId: AURORA_ID,
  key: 'b1f0c2d4-0000-4000-8000-000000000001',
  deliveryId: 7,
  notificationId: 12,
  conversationId: 3,
  recipient: PHONE,
  mode: 'reply',
  content: TEXT,
  attempts: 1,
  reference: 'chat-81',
  context: '{}',
  createdAt: '2026-01-15T09:29:58.123Z',
  replyTo: null,
} as const;

const webhook = (url: string, options: WebhookOptions & { allowPrivate?: boolean } = {}) =>
  openWebhook({ url, secret: SECRET, allowPrivate: options.allowPrivate ?? true }, { now }, options);

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

  it('posts the message, signed so that the receiver’s own library accepts it, however the secret is written', async () => {
    const padded = Buffer.alloc(25, 'test key').toString('base64');
    const inUrlAlphabet = Buffer.alloc(25, 0xff).toString('base64url');
    for (const key of [padded, padded.replaceAll('=', ''), inUrlAlphabet]) {
      const settings = { url: receiver.url, secret: `whsec_${key}`, allowPrivate: true };
      const result = await openWebhook(settings, { now: () => new Date() }).send(MESSAGE, 'text');
      assert.deepEqual(result, { outcome: 'sent', messageId: undefined, state: 'sent' });
      const { method, path, body, headers } = receiver.received.at(-1)!;
      assert.deepEqual([method, path, headers['webhook-id']], ['POST', '/hooks/deskbell', MESSAGE.key]);
      assert.equal(headers['content-type'], 'application/json');
      const standard = `whsec_${Buffer.from(key, 'base64').toString('base64')}`;
      const verify = (text: string) => new Webhook(standard).verify(text, headers as Record<string, string>);
      assert.doesNotThrow(() => verify(body));
      assert.throws(() => verify(body.replace('chat-81', 'chat-82')));
    }
  });

  /** The result of a response with this status. */
  const resultOf = (status: number, headers: Record<string, string> = {}) => {
    receiver.answer = (response) => response.writeHead(status, headers).end(`a page about ${TEXT}`);
    return send() as Promise<{ outcome: string; reason?: string; afterSeconds?: number }>;
  };

  it('treats any 2xx as sent, retries after everything else but 410, and shows the merchant why', async () => {
    for (const status of [200, 202, 204]) assert.equal((await resultOf(status)).outcome, 'sent', `${status}`);
    for (const status of [301, 400, 401, 403, 404, 405, 409, 413, 429, 500, 503]) {
      const { reason, ...result } = await resultOf(status);
      assert.deepEqual(result, { outcome: 'retry', code: `HTTP_${status}` });
      assert.match(reason!, /^The (receiving system|message) .*\.$/);
    }
    const { reason, ...stopped } = await resultOf(410);
    assert.deepEqual(stopped, { outcome: 'channel_stopped', code: 'HTTP_410', untilResumed: true });
    assert.match(reason!, /accepts no more messages/);
  });

  it('never follows a redirect', async () => {
    for (const status of [302, 308]) {
      receiver.received.length = 0;
      const { outcome, reason } = await resultOf(status, { location: receiver.url });
      assert.deepEqual([outcome, receiver.received.length], ['retry', 1]);
      assert.match(reason!, /Redirects are not followed/);
    }
  });

  it('respects Retry-After of 429 and 503, for a day at most', async () => {
    const inSeconds = (seconds: number) => new Date(now().getTime() + seconds * 1000).toUTCString();
    for (const [status, value, expected] of [
      [429, '120', 120],
      [503, '120', 120],
      [404, '120', undefined],
      [429, '0', 1],
      [429, '86401', 86_400],
      [429, inSeconds(90), 90],
      [503, inSeconds(900_000), 86_400],
      [429, 'Thu, 01 Jan 1970 00:00:00 GMT', 1],
      [429, 'soon', undefined],
    ] as const)
      assert.equal((await resultOf(status, { 'retry-after': value })).afterSeconds, expected, value);
  });

  it('reports an unknown outcome for a call that was never answered', async () => {
    receiver.answer = () => {};
    assert.deepEqual(await send({ timeoutMs: 3000 }), { outcome: 'unknown', code: 'TIMEOUT' });
    receiver.answer = (response) => response.destroy();
    assert.equal((await send()).outcome, 'unknown');
  });

  it('trusts the status of an answer that is too long or never ends', async () => {
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

  it('retries if the connection is refused or the name is unknown', async () => {
    const gone = await startReceiver();
    await gone.close();
    const refused = await webhook(gone.url).send(MESSAGE, 'text');
    const reason = 'The receiving system cannot be reached: connection refused.';
    assert.deepEqual(refused, { outcome: 'retry', code: 'ECONNREFUSED', reason });
    const unknown: Resolve = (_host, _options, done) =>
      done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
    const lost = webhook('https://hooks.example/', { allowPrivate: false, resolve: unknown });
    const { outcome, code } = (await lost.send(MESSAGE, 'text')) as { outcome: string; code: string };
    assert.deepEqual([outcome, code], ['retry', 'ENOTFOUND']);
    assert.match((await lost.check()) ?? '', /^hooks\.example: the host name does not exist/);
  });

  it('has a different id for each URL, which does not reveal the URL', () => {
    const id = webhook('https://hooks.example/a?key=1').id;
    assert.match(id, /^webhook:[\da-f]{16}$/);
    assert.equal(webhook('https://hooks.example/a?key=1').id, id);
    // They may belong to different merchants: if one refuses messages, the others must not stop.
    assert.notEqual(webhook('https://hooks.example/a?key=2').id, id);
    assert.notEqual(webhook('https://hooks.example/b').id, id);
  });

  it('checks the connection and sends nothing', async () => {
    assert.equal(await webhook(receiver.url).check(), undefined);
    const plain = await webhook(receiver.url.replace('http:', 'https:')).check();
    assert.match(plain ?? '', /^127\.0\.0\.1: the connection failed/);
    assert.match((await webhook(receiver.url, { allowPrivate: false }).check()) ?? '', /private network/);
    assert.equal(receiver.received.length, 0);
  });

  describe('does not call private networks', () => {
    const refused = (result: SendResult) =>
      assert.deepEqual({ ...result, reason: '' }, { outcome: 'failed', code: 'ADDRESS_REFUSED', reason: '' });

    it('in any notation of the address', async () => {
      const hosts =
        '127.0.0.1 2130706433 0x7f.1 0177.0.0.1 0.0.0.0 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] 169.254.169.254 [fd00::1]';
      for (const host of hosts.split(' ')) {
        const channel = webhook(`http://${host}:${receiver.port}/`, { allowPrivate: false });
        refused(await channel.send(MESSAGE, 'text'));
      }
      assert.equal(receiver.received.length, 0);
    });

    it('if a host name resolves to one', async () => {
      const local = webhook(`http://localhost:${receiver.port}/`, { allowPrivate: false });
      refused(await local.send(MESSAGE, 'text'));
      assert.match((await local.check()) ?? '', /^localhost: the address is in a private network/);
      const allowed = webhook(`http://localhost:${receiver.port}/`);
      assert.equal((await allowed.send(MESSAGE, 'text')).outcome, 'sent');
      assert.equal(receiver.received.length, 1);
    });

    it('if a host name resolves to one after it was checked', async () => {
      const answers = ['203.0.114.1', '127.0.0.1'];
      let looks = 0;
      const resolve: Resolve = (_host, _options, done) =>
        done(null, [{ address: answers[Math.min(looks++, 1)]!, family: 4 }]);
      publicLookup(resolve)('rebound.example', {}, (_error, address) => assert.equal(address, '203.0.114.1'));
      const channel = webhook(`http://rebound.example:${receiver.port}/`, { allowPrivate: false, resolve });
      refused(await channel.send(MESSAGE, 'text'));
      // One lookup for the connection, which uses the address that was checked.
      assert.equal(looks, 2);
      assert.equal(receiver.received.length, 0);
    });

    it('and recognizes their addresses', () => {
      const inside =
        '0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.1.2.3 169.254.1.1 172.16.0.1 172.31.255.255 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 2001:0:7f00:1:: fc00::1 fdff::1 fe80::1%eth0 fec0::1 ff02::1 nonsense';
      const outside =
        '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.169.0.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450:4001::1';
      assert.deepEqual(inside.split(' ').filter(isPublicAddress), []);
      assert.deepEqual(outside.split(' ').filter(isPublicAddress), outside.split(' '));
    });
  });

  it('refuses to start with wrong settings', () => {
    const settings = { CHANNEL: 'webhook', WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET };
    assert.equal(readConfig(settings).channel.settings.allowPrivate, false);
    assert.throws(() => readConfig({ ...settings, WEBHOOK_SECRET: 'whsec_short' }), /^Error: WEBHOOK_SECRET/);
    assert.throws(() => readConfig({ ...settings, WEBHOOK_URL: 'ftp://hooks.example' }), /WEBHOOK_URL/);
  });
});
