import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readConfig } from '../../../src/config.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { ANSWERED, useHooks, WEBHOOKS } from '../../support/hooks.ts';
import { createKey } from '../../support/machineKeys.ts';
import { startReceiver } from '../../support/receiver.ts';
import {
  AURORA,
  assertError,
  BOREALIS,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  startDeskbell,
} from '../../support/server.ts';

onEachEngine('webhook endpoints', (engine) => {
  const hooks = useHooks(engine);
  const { deskbell, call, add, answer } = hooks;

  it('do not appear among the messages to customers', async () => {
    await add();
    const { token } = hooks;
    const count = async () => (await deskbell.call('GET', '/api/v1/delivery/', { token })).json.length;
    const before = await count();
    await answer();
    await deskbell.allSent();
    assert.equal(hooks.receiver.received.length, 4);
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

  it('accept only https addresses without a password, at most ten, and known types', async () => {
    for (const url of ['ftp://a.example/', 'not an address', 'https://me:secret@a.example/', '']) {
      const reply = await call('POST', '', { body: { url } });
      assertError(reply, 422, 'VALIDATION_ERROR', 'url');
      assert.ok(!reply.text.includes('secret'));
    }
    for (const events of [['no.such'], [], 'all']) {
      const reply = await call('POST', '', { body: { url: hooks.receiver.url, events } });
      assert.equal(reply.status, 422, reply.text);
    }
    for (let n = 0; n < 10; n += 1) await add();
    assertError(await call('POST', '', { body: { url: hooks.receiver.url } }), 409, 'CONFLICT');
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
    assert.equal(hooks.receiver.received.length, 0);
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
    const own = await call('POST', '', { token: key, body: { url: hooks.receiver.url, ...ANSWERED } });
    assert.deepEqual([own.status, own.json.include_content], [200, false]);
    await call('DELETE', `/${id}`);
    await answer();
    await deskbell.allSent();
    assert.equal(hooks.receiver.received.length, 1);
    assert.equal('answer' in hooks.receiver.received[0]!.json.data, false);
    // A key cannot make an owner's endpoint send texts to another address.
    const { id: owners } = await add(ANSWERED);
    const moved = await call('PATCH', `/${owners}`, { token: key, body: { url: `${hooks.receiver.url}/2` } });
    assert.deepEqual([moved.status, moved.json.include_content], [200, false]);
    // Nor what waits in its queue. On a slow machine its next attempt would come before the change.
    deskbell.clock.stop();
    const { id: failing } = await add(ANSWERED);
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    await answer('A queued secret.');
    await deskbell.allSent();
    hooks.receiver.received = [];
    hooks.receiver.answer = (response) => response.writeHead(204).end();
    await call('PATCH', `/${failing}`, { token: key, body: { url: `${hooks.receiver.url}/3` } });
    await deskbell.clock.advance(60);
    await deskbell.allSent();
    deskbell.clock.go();
    const stolen = hooks.receiver.received.filter(({ path }) => path.endsWith('/3'));
    assert.equal(stolen.length, 1);
    assert.equal(stolen[0]!.body.includes('A queued secret.'), false);
    await hooks.signIn();
    const back = await call('PATCH', `/${owners}`, { body: { url: hooks.receiver.url } });
    assert.deepEqual([back.status, back.json.include_content], [200, true]);
  });
});

onEachEngine('webhook endpoints in a private network', (engine) => {
  it('are refused, by address and by name, unless that is allowed', async () => {
    const receiver = await startReceiver();
    const database = await createDemoDatabase(engine, 'weak');
    const start = (allowed: boolean) =>
      startDeskbell(engine, { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: String(allowed) }, database);
    let deskbell = await start(true);
    try {
      let token = await deskbell.signIn();
      const add = (url: string) => deskbell.call('POST', WEBHOOKS, { token, body: { url } });
      const named = `http://localhost:${receiver.port}/`;
      const { json } = await add(named);
      await deskbell.close();
      deskbell = await start(false);
      token = await deskbell.signIn();
      assertError(await add('http://shop.example/'), 422, 'VALIDATION_ERROR', 'url');
      for (const url of [
        ...[receiver.url, 'https://10.0.0.1/', 'https://[::1]/'],
        ...[named, 'https://LOCALHOST/', 'https://localhost./', 'http://shop.localhost/'],
      ]) {
        const refused = await add(url);
        assertError(refused, 422, 'VALIDATION_ERROR', 'url');
        assert.match(refused.text, /url must not lead into a private network/);
      }
      for (const url of ['https://notlocalhost/', 'https://localhost.example/'])
        assert.equal((await add(url)).status, 200);
      await deskbell.call('POST', `${WEBHOOKS}/${json.id}/test`, { token });
      await deskbell.allSent();
      const log = await deskbell.call('GET', `${WEBHOOKS}/${json.id}/attempts`, { token });
      assert.equal(log.json.attempts[0].last_code, 'ADDRESS_REFUSED');
      assert.equal(receiver.received.length, 0);
    } finally {
      await deskbell.close();
      await database.remove();
      await receiver.close();
    }
  });

  it('are allowed by default only on a server that nobody else can reach', async () => {
    const receiver = await startReceiver();
    const { env, remove } = await createDemoDatabase(engine, 'weak');
    const { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: _, ...unset } = env;
    // PostgreSQL may have servers and workers with other settings.
    const ifEmbedded = engine === 'sqlite' ? 200 : 422;
    const secret = `whsec_${Buffer.alloc(24, 'default').toString('base64')}`;
    const allow = { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true' };
    for (const settings of [{ HOST: '0.0.0.0' }, { NODE_ENV: 'production' }])
      assert.equal(readConfig(settings).webhookEndpointsAllowPrivate, false);
    try {
      for (const [settings, status] of [
        [{}, ifEmbedded],
        [{ PUBLIC_URL: 'http://localhost:8000', ALLOWED_HOSTS: '127.0.0.1' }, ifEmbedded],
        [{ PUBLIC_URL: 'https://desk.shop.example' }, 422],
        [{ ALLOWED_HOSTS: 'desk.shop.example' }, 422],
        [{ TRUST_PROXY: '1' }, 422],
        [{ PUBLIC_URL: 'https://desk.shop.example', ...allow }, 200],
        [{ WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'false' }, 422],
      ] as const) {
        const deskbell = await startDeskbell(engine, settings, { env: unset, remove });
        try {
          const token = await deskbell.signIn();
          const { url } = receiver;
          const added = await deskbell.call('POST', WEBHOOKS, { token, body: { url } });
          const body = { channel: 'webhook', settings: { url, secret } };
          const set = await deskbell.call('PUT', '/api/v1/channel', { token, body });
          assert.deepEqual([added.status, set.status], [status, status], JSON.stringify(settings));
        } finally {
          await deskbell.close();
        }
      }
    } finally {
      await remove();
      await receiver.close();
    }
  });
});
