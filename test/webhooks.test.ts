import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createLogger } from '../src/log.ts';
import { cleanUp } from '../src/server.ts';
import {
  AURORA,
  assertError,
  BOREALIS,
  type CallOptions,
  NOTIFICATIONS,
  onEachEngine,
  type Reply,
  raise,
  startDeskbell,
  useDeskbell,
} from './harness.ts';
import { createKey } from './machineKeys.ts';
import { type ReceivedCall, type Receiver, startReceiver } from './receiver.ts';
import { until } from './shops.ts';

const WEBHOOKS = '/api/v1/webhooks';
const DAY = 86_400;

const isVerified = ({ body, headers }: ReceivedCall, secret: string): boolean => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};
const typesOf = (calls: readonly ReceivedCall[]) => calls.map(({ json }) => json.type).sort();
const idOf = ({ headers }: ReceivedCall) => headers['webhook-id'];

onEachEngine('webhook endpoints', (engine) => {
  const deskbell = useDeskbell(engine);
  let receiver: Receiver;
  let token: string;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());
  beforeEach(async () => {
    // An access token expires when a test moves the clock.
    token = await deskbell.signIn();
    for (const { id } of (await call('GET', '')).json) await call('DELETE', `/${id}`);
    receiver.answer = (response) => response.writeHead(204).end();
    receiver.received = [];
  });

  const call = (method: string, path: string, options: CallOptions = {}): Promise<Reply> =>
    deskbell.call(method, WEBHOOKS + path, { token, ...options });
  async function add(body: object = {}): Promise<{ id: number; secret: string }> {
    const reply = await call('POST', '', { body: { url: receiver.url, ...body } });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  }
  async function answer(text = 'Yes, a Colombian one.'): Promise<void> {
    const address = await raise(deskbell, token);
    const reply = await deskbell.call('POST', `${address}/answer`, { token, body: { answer: text } });
    assert.equal(reply.status, 200);
  }
  const attempts = async (id: number) => (await call('GET', `/${id}/attempts`)).json.attempts;
  /** The answer's own event only, so that a test knows what comes. */
  const ANSWERED = { events: ['notification.answered'] };

  it('receive every event once, signed, with its id from the log', async () => {
    const { secret } = await add();
    await answer();
    await deskbell.allSent();
    await deskbell.allSent();
    const { received } = receiver;
    assert.deepEqual(typesOf(received), [
      'delivery.delivered',
      'knowledge.updated',
      'notification.answered',
      'notification.requested',
    ]);
    for (const one of received) {
      assert.ok(isVerified(one, secret));
      assert.ok(!isVerified({ ...one, body: one.body.replace('"', ' "') }, secret));
      assert.equal(idOf(one), `evt_1_${one.json.data.event_id}`);
      assert.deepEqual(Object.keys(one.json), ['type', 'timestamp', 'data']);
      assert.equal(one.headers['content-type'], 'application/json');
    }
    const { json } = received.find((one) => one.json.type === 'notification.answered')!;
    assert.equal(json.data.answer, 'Yes, a Colombian one.');
    assert.equal(new Set(received.map(idOf)).size, 4);
  });

  it('receive only the types that they ask for, and only what happens after they were added', async () => {
    await answer('Before.');
    const { id } = await add(ANSWERED);
    await answer('After.');
    await deskbell.allSent();
    assert.deepEqual(
      receiver.received.map(({ json }) => json.data.answer),
      ['After.'],
    );
    await call('PATCH', `/${id}`, { body: { events: null } });
    await raise(deskbell, token);
    await deskbell.allSent();
    assert.deepEqual(typesOf(receiver.received), ['notification.answered', 'notification.requested']);
  });

  it('get the same bytes and the same id again after an error, and the log of attempts shows it', async () => {
    const { id } = await add(ANSWERED);
    receiver.answer = (response) => response.writeHead(500).end();
    await answer();
    await deskbell.allSent();
    const [failing] = await attempts(id);
    assert.deepEqual(
      [failing.state, failing.attempts, failing.last_code, failing.type],
      ['queued', 1, 'HTTP_500', 'notification.answered'],
    );
    assert.ok(failing.next_attempt_at > failing.updated_at);
    assert.notEqual((await call('GET', `/${id}`)).json.failing_since, null);
    receiver.answer = (response) => response.writeHead(200).end();
    await deskbell.clock.advance(6);
    await deskbell.allSent();
    const [first, second, ...rest] = receiver.received;
    assert.equal(rest.length, 0);
    assert.deepEqual([first!.body, idOf(first!)], [second!.body, idOf(second!)]);
    const [sent] = await attempts(id);
    assert.deepEqual(
      [sent.state, sent.attempts, sent.last_code, sent.webhook_id, sent.event_id],
      ['sent', 2, null, idOf(first!), first!.json.data.event_id],
    );
    assert.deepEqual(
      sent.history.map(({ state, code }: { state: string; code: string | null }) => [state, code]),
      [
        ['queued', null],
        ['queued', 'HTTP_500'],
        ['sent', null],
      ],
    );
    assert.equal((await call('GET', `/${id}`)).json.failing_since, null);
    assertError(await call('GET', `/${id}/attempts?cursor=x`), 422, 'VALIDATION_ERROR', 'cursor');
  });

  it('are signed with both secrets until the overlap ends', async () => {
    const { id, secret: old } = await add(ANSWERED);
    const { secret } = (await call('POST', `/${id}/rotate`, { body: { overlap_seconds: 60 } })).json;
    assert.notEqual(secret, old);
    await answer();
    await deskbell.allSent();
    assert.deepEqual(
      [old, secret].map((one) => isVerified(receiver.received[0]!, one)),
      [true, true],
    );
    assert.notEqual((await call('GET', `/${id}`)).json.previous_secret_until, null);
    await deskbell.clock.advance(61);
    await answer();
    await deskbell.allSent();
    assert.deepEqual(
      [old, secret].map((one) => isVerified(receiver.received[1]!, one)),
      [false, true],
    );
    assert.equal((await call('GET', `/${id}`)).json.previous_secret_until, null);
    assert.equal((await call('POST', `/${id}/rotate`)).status, 200);
    // Nothing shows the secret again.
    for (const path of ['', `/${id}`]) assert.doesNotMatch((await call('GET', path)).text, /whsec_/);
    const stored = await deskbell.database.one<{ sealed_settings: string }>(
      'select sealed_settings from webhook_endpoints where id = $1',
      [id],
    );
    assert.ok(!stored!.sealed_settings.includes(secret) && !stored!.sealed_settings.includes('hooks'));
  });

  it('can be tested, and get one event or all since a time again, with the same bytes', async () => {
    const { id, secret } = await add(ANSWERED);
    const test = (await call('POST', `/${id}/test`)).json;
    await deskbell.allSent();
    assert.deepEqual(typesOf(receiver.received), ['webhook.test']);
    assert.equal(idOf(receiver.received[0]!), test.webhook_id);
    assert.ok(isVerified(receiver.received[0]!, secret));
    receiver.received = [];

    for (const text of ['One.', 'Two.', 'Three.']) {
      await answer(text);
      // A message that is being sent while the clock moves past its lease is sent twice.
      await deskbell.allSent();
      await deskbell.clock.advance(120);
      token = await deskbell.signIn();
    }
    const original = receiver.received;
    assert.equal(original.length, 3);
    receiver.received = [];
    const { event_id } = original[1]!.json.data;
    const replayed = await call('POST', `/${id}/replay`, { body: { event_id } });
    assert.equal(replayed.json.webhook_id, idOf(original[1]!));
    await deskbell.allSent();
    assert.deepEqual(
      receiver.received.map(({ body }) => body),
      [original[1]!.body],
    );
    receiver.received = [];
    const since = original[1]!.json.timestamp;
    assert.equal((await call('POST', `/${id}/replay`, { body: { since } })).status, 200);
    await deskbell.allSent();
    await deskbell.allSent();
    const bodies = (calls: readonly ReceivedCall[]) => calls.map(({ body }) => body).sort();
    assert.deepEqual(bodies(receiver.received), bodies(original.slice(1)));
    assert.equal((await call('GET', `/${id}`)).json.replaying, false);

    assertError(await call('POST', `/${id}/replay`, { body: { event_id: 1e9 } }), 404, 'EVENT_NOT_FOUND');
    assertError(await call('POST', `/${id}/replay`, { body: {} }), 422, 'VALIDATION_ERROR', 'event_id');
    assertError(
      await call('POST', `/${id}/replay`, { body: { since: '2026-01-15T09:30' } }),
      422,
      'VALIDATION_ERROR',
      'since',
    );
  });

  it('are stopped by a 410, and continue where they stopped when they are turned on', async () => {
    const { id } = await add(ANSWERED);
    receiver.answer = (response) => response.writeHead(410).end();
    await answer('One.');
    await deskbell.allSent();
    const stopped = (await call('GET', `/${id}`)).json;
    assert.equal(stopped.enabled, false);
    assert.match(stopped.stop_reason, /410/);
    assert.notEqual(stopped.stopped_at, null);
    assert.ok(deskbell.logged.some((line) => /"level":"error".*the channel is stopped/.test(line)));
    const audit = await deskbell.call('GET', '/api/v1/audit?what=webhook.stopped', { token });
    assert.equal(audit.status, 200, audit.text);
    assert.match(audit.text, new RegExp(`"webhook_id":${id}\\b`));
    assertError(await call('POST', `/${id}/test`), 409, 'CONFLICT');

    receiver.received = [];
    receiver.answer = (response) => response.writeHead(204).end();
    await answer('Two.');
    await deskbell.allSent();
    assert.equal(receiver.received.length, 0);
    const resumed = await call('PATCH', `/${id}`, { body: { enabled: true } });
    assert.deepEqual(
      [resumed.json.enabled, resumed.json.stopped_at, resumed.json.stop_reason],
      [true, null, null],
    );
    await deskbell.allSent();
    await deskbell.allSent();
    assert.deepEqual(receiver.received.map(({ json }) => json.data.answer).sort(), ['One.', 'Two.']);
  });

  it('receive nothing any more when they are removed', async () => {
    const { id } = await add(ANSWERED);
    receiver.answer = (response) => response.writeHead(500).end();
    await answer();
    await deskbell.allSent();
    assert.equal(receiver.received.length, 1);
    assert.equal((await call('DELETE', `/${id}`)).status, 200);
    await deskbell.clock.advance(400);
    token = await deskbell.signIn();
    await answer();
    await deskbell.allSent();
    assert.equal(receiver.received.length, 1);
    assertError(await call('GET', `/${id}`), 404, 'WEBHOOK_NOT_FOUND');
    assertError(await call('DELETE', `/${id}`), 404, 'WEBHOOK_NOT_FOUND');
  });

  it('do not appear among the messages to customers', async () => {
    await add();
    const count = async () => (await deskbell.call('GET', '/api/v1/delivery/', { token })).json.length;
    const before = await count();
    await answer();
    await deskbell.allSent();
    await deskbell.allSent();
    assert.equal(receiver.received.length, 4);
    assert.equal(await count(), before + 1);
    const { id } = (await deskbell.database.one<{ id: number }>(
      'select max(id) as id from deliveries where endpoint_id > 0',
    ))!;
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/retry'],
      ['POST', '/cancel'],
    ] as const) {
      const reply = await deskbell.call(method, `/api/v1/delivery/${id}${path}`, {
        token,
        ...(path === '/retry' ? { body: {} } : {}),
      });
      assertError(reply, 404, 'DELIVERY_NOT_FOUND');
    }
  });

  it('that do not answer delay neither messages to customers nor other endpoints', async () => {
    const hanging = await startReceiver();
    const open: (() => void)[] = [];
    hanging.answer = (response) => {
      open.push(() => response.writeHead(204).end());
    };
    try {
      await add({ url: hanging.url });
      await add(ANSWERED);
      for (let n = 0; n < 4; n += 1) await answer();
      await until('the others have everything', async () => {
        const sent = await deskbell.database.one<{ left: number }>(
          `select count(*) as left from deliveries where endpoint_id = 0 and state = 'queued'`,
        );
        return receiver.received.length === 4 && sent!.left === 0;
      });
      assert.ok(open.length > 0);
      hanging.answer = (response) => response.writeHead(204).end();
      for (const finish of open) finish();
      await deskbell.allSent();
      await deskbell.allSent();
      assert.equal(new Set(hanging.received.map(idOf)).size, 16);
    } finally {
      await hanging.close();
    }
  });

  it('accept only https addresses without a password, at most ten, and known types', async () => {
    for (const url of ['ftp://a.example/', 'not an address', 'https://me:secret@a.example/', '']) {
      const reply = await call('POST', '', { body: { url } });
      assertError(reply, 422, 'VALIDATION_ERROR', 'url');
      assert.ok(!reply.text.includes('secret'));
    }
    for (const events of [['no.such'], [], 'all']) {
      const reply = await call('POST', '', { body: { url: receiver.url, events } });
      assert.equal(reply.status, 422, reply.text);
    }
    for (let n = 0; n < 10; n += 1) await add();
    assertError(await call('POST', '', { body: { url: receiver.url } }), 409, 'CONFLICT');
    assert.equal((await call('GET', '')).json.length, 10);
  });

  it('of another merchant look like endpoints that do not exist', async () => {
    const { id } = await add();
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const calls: [method: string, path: string, body?: object][] = [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['POST', '/rotate', {}],
      ['POST', '/test'],
      ['POST', '/replay', { event_id: 1 }],
      ['POST', '/replay', { since: '2026-01-01T00:00:00Z' }],
      ['GET', '/attempts'],
      ['DELETE', ''],
    ];
    for (const [method, path, body] of calls) {
      for (const other of [id, 987_654_321, 'x', '0', '1e1']) {
        const options = { token: borealis, ...(body ? { body } : {}) };
        assertError(await call(method, `/${other}${path}`, options), 404, 'WEBHOOK_NOT_FOUND');
      }
    }
    assert.deepEqual((await call('GET', '', { token: borealis })).json, []);
    assert.equal((await call('GET', `/${id}`)).json.enabled, true);
    // Its events stay with it, too.
    const theirs = await raise(deskbell, borealis, {
      notification_type: 'user_question_request',
      conversation_id: 5,
      context: { question: 'Is it open?' },
    });
    assert.match(theirs, new RegExp(NOTIFICATIONS));
    await deskbell.allSent();
    assert.equal(receiver.received.length, 0);
  });

  it('are for owners and for keys with the scope, and texts only for those that may read them', async () => {
    const { id } = await add();
    const refused = await createKey(deskbell, ['ask', 'knowledge:read']);
    assertError(await call('GET', '', { token: refused }), 403, 'INSUFFICIENT_SCOPE');
    await deskbell.database.run(`update users set role = 'user' where email = $1`, [AURORA.email]);
    const user = await deskbell.signIn();
    await deskbell.database.run(`update users set role = 'owner' where email = $1`, [AURORA.email]);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', `/${id}`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/test`],
    ] as const) {
      assertError(await call(method, path, { token: user }), 403, 'FORBIDDEN');
    }
    const key = await createKey(deskbell, ['webhooks']);
    const own = await call('POST', '', { token: key, body: { url: receiver.url, ...ANSWERED } });
    assert.deepEqual([own.status, own.json.include_content], [200, false]);
    await call('DELETE', `/${id}`);
    await answer();
    await deskbell.allSent();
    assert.equal(receiver.received.length, 1);
    assert.equal('answer' in receiver.received[0]!.json.data, false);
    // A key cannot make an owner's endpoint send texts to another address.
    const { id: owners } = await add(ANSWERED);
    const moved = await call('PATCH', `/${owners}`, { token: key, body: { url: `${receiver.url}/2` } });
    assert.deepEqual([moved.status, moved.json.include_content], [200, false]);
    // Nor what waits in its queue.
    const { id: failing } = await add(ANSWERED);
    receiver.answer = (response) => response.writeHead(500).end();
    await answer('A queued secret.');
    await deskbell.allSent();
    receiver.received = [];
    receiver.answer = (response) => response.writeHead(204).end();
    await call('PATCH', `/${failing}`, { token: key, body: { url: `${receiver.url}/3` } });
    await deskbell.clock.advance(60);
    await deskbell.allSent();
    const stolen = receiver.received.filter(({ path }) => path.endsWith('/3'));
    assert.equal(stolen.length, 1);
    assert.equal(stolen[0]!.body.includes('A queued secret.'), false);
    token = await deskbell.signIn();
    const back = await call('PATCH', `/${owners}`, { body: { url: receiver.url } });
    assert.deepEqual([back.status, back.json.include_content], [200, true]);
  });

  it('are removed from the log of attempts after 30 days', async () => {
    const { id } = await add(ANSWERED);
    await answer();
    await deskbell.allSent();
    const log = createLogger({ logLevel: 'fatal', logPretty: false });
    await cleanUp(deskbell.database, deskbell.config, log, deskbell.clock.now());
    assert.equal((await attempts(id)).length, 1);
    const later = new Date(deskbell.clock.now().getTime() + 31 * DAY * 1000);
    await cleanUp(deskbell.database, deskbell.config, log, later);
    assert.equal((await attempts(id)).length, 0);
  });

  it('that only fail are stopped after 5 days, but not if one call succeeds', async () => {
    const { id } = await add(ANSWERED);
    const days = async (count: number) => {
      await deskbell.clock.advance(count * DAY);
      token = await deskbell.signIn();
      await answer();
      await deskbell.allSent();
      return (await call('GET', `/${id}`)).json;
    };
    receiver.answer = (response) => response.writeHead(500).end();
    await days(0);
    assert.equal((await days(4)).enabled, true);
    receiver.answer = (response) => response.writeHead(200).end();
    assert.equal((await days(0)).failing_since, null);
    receiver.answer = (response) => response.writeHead(500).end();
    assert.equal((await days(2)).enabled, true);
    const stopped = await days(5.1);
    assert.equal(stopped.enabled, false);
    assert.equal(stopped.stop_reason, 'Every attempt has failed for 5 days.');
  });
});

onEachEngine('webhook endpoints in a private network', (engine) => {
  it('are refused, by address and by name, unless that is allowed', async () => {
    const receiver = await startReceiver();
    const deskbell = await startDeskbell(engine, { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'false' });
    try {
      const token = await deskbell.signIn();
      const add = (url: string) => deskbell.call('POST', WEBHOOKS, { token, body: { url } });
      for (const url of [receiver.url, 'https://10.0.0.1/', 'https://[::1]/', 'http://shop.example/']) {
        assertError(await add(url), 422, 'VALIDATION_ERROR', 'url');
      }
      const { json } = await add(`http://localhost:${receiver.port}/`);
      await deskbell.call('POST', `${WEBHOOKS}/${json.id}/test`, { token });
      await deskbell.allSent();
      const log = await deskbell.call('GET', `${WEBHOOKS}/${json.id}/attempts`, { token });
      assert.equal(log.json.attempts[0].last_code, 'ADDRESS_REFUSED');
      assert.equal(receiver.received.length, 0);
    } finally {
      await deskbell.close();
      await receiver.close();
    }
  });
});
