// Who may manage webhook endpoints, and where they may be.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { readConfig } from '../../../src/config.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { changeEndpoint, type Endpoint } from '../../../src/webhooks/store.ts';
import { ANSWERED, useHooks } from '../../support/hooks.ts';
import { useMerchant } from '../../support/merchants.ts';
import { startReceiver } from '../../support/receiver.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

onEachEngine('webhook endpoints', (engine) => {
  const hooks = useHooks(engine);
  const other = useMerchant(engine);
  const { shop, deskbell, call, add, change, read, answer, sent, responds } = hooks;

  it('do not appear among the messages to customers', async () => {
    await add();
    const count = async () => (await shop.get('/delivery/')).json.length;
    const before = await count();
    await answer();
    assert.equal((await sent()).length, 4);
    assert.equal(await count(), before + 1);
    const { id } = (await deskbell.database.one<{ id: number }>(
      'select max(id) as id from deliveries where endpoint_id > 0 and merchant_id = $1',
      [shop.id],
    ))!;
    for (const reply of [
      await shop.get(`/delivery/${id}`),
      await shop.post(`/delivery/${id}/retry`, {}),
      await shop.post(`/delivery/${id}/cancel`),
    ])
      assertError(reply, 404, 'DELIVERY_NOT_FOUND');
  });

  it('have addresses without a password and known types, and are at most ten', async () => {
    for (const url of ['ftp://a.example/', 'not an address', 'https://me:secret@a.example/', '']) {
      const reply = await shop.post('/webhooks', { url });
      assertError(reply, 422, 'VALIDATION_ERROR', 'url');
      assert.ok(!reply.text.includes('secret'));
    }
    const { url } = hooks.receiver;
    for (const events of [['no.such'], [], 'all'])
      assert.equal((await shop.post('/webhooks', { url, events })).status, 422);
    for (let n = 0; n < 10; n += 1) await add();
    assertError(await shop.post('/webhooks', { url }), 409, 'CONFLICT');
    assert.equal((await shop.get('/webhooks')).json.length, 10);
  });

  it('of another merchant look like endpoints that do not exist', async () => {
    const { id } = await add();
    const token = await other.token();
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['POST', '/rotate', {}],
      ['POST', '/test'],
      ['POST', '/replay', { event_id: 1 }],
      ['POST', '/replay', { since: '2026-01-01T00:00:00Z' }],
      ['GET', '/attempts'],
      ['DELETE', ''],
    ] as const)
      for (const one of [id, 'x'])
        assertError(await call(method, `/${one}${path}`, { token, body }), 404, 'WEBHOOK_NOT_FOUND');
    for (const one of [987_654_321, '0', '1e1'])
      assertError(await call('GET', `/${one}`), 404, 'WEBHOOK_NOT_FOUND');
    assert.deepEqual((await other.get('/webhooks')).json, []);
    assert.equal((await read(id)).enabled, true);
    // Its events stay with it, too.
    await other.raise();
    assert.deepEqual(await sent(), []);
  });

  it('are for owners and for keys with the scope, and texts only for those that may read them', async () => {
    const { id } = await add();
    const refused = await shop.key('ask', 'knowledge:read');
    assertError(await call('GET', '', { token: refused }), 403, 'INSUFFICIENT_SCOPE');
    const { token: user } = await shop.colleague();
    for (const [method, path] of [
      ['GET', ''],
      ['GET', `/${id}`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/test`],
    ] as const)
      assertError(await call(method, path, { token: user }), 403, 'FORBIDDEN');
    const token = await shop.key('webhooks');
    const { url } = hooks.receiver;
    const own = await shop.post('/webhooks', { url, ...ANSWERED }, { token });
    assert.deepEqual([own.status, own.json.include_content], [200, false]);
    await call('DELETE', `/${id}`);
    await answer();
    const [one, ...more] = await sent();
    assert.deepEqual(['answer' in one!.json.data, more], [false, []]);
  });

  it('send no texts to an address that a key has changed, nor what waits for it', async () => {
    const token = await shop.key('webhooks');
    const { url } = hooks.receiver;
    const move = (id: number, path: string, options = {}) => change(id, { url: url + path }, options);
    const { id } = await add(ANSWERED);
    // The address that it has is no change.
    assert.equal((await move(id, '', { token })).json.include_content, true);
    assert.equal((await move(id, '/2', { token })).json.include_content, false);
    // On a slow machine its next attempt would come before the change.
    deskbell.clock.stop();
    const { id: failing } = await add(ANSWERED);
    responds(500);
    await answer('A queued secret.');
    await sent();
    responds(204);
    await move(failing, '/3', { token });
    await deskbell.clock.advance(60);
    const stolen = (await sent()).filter(({ path }) => path.endsWith('/3'));
    deskbell.clock.go();
    assert.equal(stolen.length, 1);
    assert.equal(stolen[0]!.body.includes('A queued secret.'), false);
    assert.equal((await move(id, '')).json.include_content, true);
  });
});

describe('webhook endpoints in a private network', () => {
  const shop = useMerchant('sqlite', { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'false' });

  it('are refused, by address and by name, and not called', async () => {
    const receiver = await startReceiver();
    const add = (url: string) => shop.post('/webhooks', { url });
    const named = `http://localhost:${receiver.port}/`;
    for (const url of [
      ...['http://shop.example/', receiver.url, 'https://10.0.0.1/', 'https://[::1]/'],
      ...[named, 'https://LOCALHOST/', 'https://localhost./', 'http://shop.localhost/'],
    ])
      assertError(await add(url), 422, 'VALIDATION_ERROR', 'url');
    const [{ json }, { status }] = [
      await add('https://notlocalhost/'),
      await add('https://localhost.example/'),
    ];
    assert.equal(status, 200);
    // As if its name had another address now.
    const { database, config, clock } = shop.deskbell;
    const move = ({ settings }: Endpoint) => ({ settings: { ...settings, url: named } });
    await database.transaction((tx) =>
      changeEndpoint(tx, openVault(config), shop.id, json.id, move, clock.now()),
    );
    await shop.post(`/webhooks/${json.id}/test`);
    await shop.deskbell.allSent();
    const { attempts } = (await shop.get(`/webhooks/${json.id}/attempts`)).json;
    assert.deepEqual([attempts[0].last_code, receiver.received], ['ADDRESS_REFUSED', []]);
    await receiver.close();
  });

  it('are allowed by default only on a server that nobody else can reach', () => {
    const PUBLIC_URL = 'https://desk.shop.example';
    for (const [settings, allowed] of [
      [{}, true],
      [{ PUBLIC_URL: 'http://localhost:8000', ALLOWED_HOSTS: '127.0.0.1' }, true],
      // It may have servers and workers with other settings.
      [{ DATABASE_URL: 'postgres://localhost/desk', SECRET_KEY: newSecretKey() }, false],
      [{ PUBLIC_URL }, false],
      [{ ALLOWED_HOSTS: 'desk.shop.example' }, false],
      [{ TRUST_PROXY: '1' }, false],
      [{ HOST: '0.0.0.0', DEMO: 'false' }, false],
      [{ NODE_ENV: 'production' }, false],
      [{ PUBLIC_URL, WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true' }, true],
      [{ WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'false' }, false],
    ] as const)
      assert.equal(readConfig(settings).webhookEndpointsAllowPrivate, allowed, JSON.stringify(settings));
  });
});
