import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasValidForm } from '../../../src/auth/machineKeys/format.ts';
import { SCOPE_NAMES, type Scope } from '../../../src/contract/machineKeys.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import {
  assertError,
  type CallOptions,
  idsOf,
  onEachEngine,
  startSecondServer,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';

interface Operation {
  security?: { key?: Scope[] }[];
  requestBody?: object;
}

onEachEngine('keys for machines', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const search = (token: string) => shop.get('/knowledge/', { token });

  it('a key is shown once, stored as a hash, and may ask and search by default', async () => {
    const { status, json } = await shop.post('/keys', { name: ' Assistant ' });
    assert.equal(status, 200);
    assert.match(json.key, /^dbk_[0-9A-Za-z]{38}$/);
    const own = { name: 'Assistant', scopes: ['ask', 'knowledge:read'], expires_at: null };
    assert.deepEqual([json.name, json.scopes, json.expires_at], Object.values(own));

    const [listed] = (await shop.get('/keys')).json;
    assert.deepEqual([listed.name, listed.hint], ['Assistant', json.key.slice(0, 8)]);
    assert.equal('key' in listed, false);
    const rows = await shop.deskbell.database.all('select * from machine_keys');
    assert.equal(JSON.stringify(rows).includes(json.key.slice(8)), false);

    assert.equal((await search(json.key)).status, 200);
    assert.deepEqual((await shop.get('/keys/self', { token: json.key })).json, own);
    let usedAt: string | null = null;
    await until('its use is written, in the background', async () => {
      usedAt = (await shop.get('/keys')).json[0].last_used_at;
      return usedAt !== null;
    });
    assert.ok(Math.abs(Date.parse(usedAt!) - shop.deskbell.clock.now().getTime()) < 60_000);
  });

  it('a key cannot send a message to another number', async () => {
    await shop.answer(await shop.raise(), 'A text for Lucía.');
    await shop.deskbell.allSent();
    const [{ id }] = (await shop.get('/delivery/?limit=1')).json;
    const token = await shop.key('answer');
    const reply = await shop.post(`/delivery/${id}/retry`, { recipient: '+34611999999' }, { token });
    assertError(reply, 403, 'INSUFFICIENT_SCOPE', 'recipient');
  });

  it('only owners manage keys, and only those of their merchant', async () => {
    const created = (await shop.post('/keys', { name: 'Ours' })).json;
    const { token } = await shop.colleague();
    for (const reply of [
      await shop.get('/keys', { token }),
      await shop.post('/keys', { name: 'Mine' }, { token }),
      await shop.delete(`/keys/${created.id}`, { token }),
    ])
      assertError(reply, 403, 'FORBIDDEN');
    assert.deepEqual((await other.get('/keys')).json, []);
    const foreign = await other.delete(`/keys/${created.id}`);
    assertError(foreign, 404, 'KEY_NOT_FOUND');
    for (const id of ['999999', 'abc']) assert.equal((await other.delete(`/keys/${id}`)).text, foreign.text);
    assert.equal((await search(created.key)).status, 200);
  });

  it('a key sees only its merchant', async () => {
    const token = await other.key('notifications:read');
    const own = await other.raise();
    assert.deepEqual(idsOf(await shop.get('/notification/', { token })), [own]);
    const reply = await shop.get(`/notification/${await shop.raise()}`, { token });
    assertError(reply, 404, 'NOTIFICATION_NOT_FOUND');
  });

  it('a merchant has at most a hundred keys, until one is revoked', async () => {
    const merchant = await newMerchant(shop.deskbell);
    const add = () => merchant.post('/keys', { name: 'Another' });
    await merchant.deskbell.database.run(
      `insert into machine_keys (merchant_id, name, hash, hint, scopes, created_at)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < 99)
        select cast($1 as bigint), 'Many', concat('hash ', i), 'dbk_many', 'ask', '2026' from n`,
      [merchant.id],
    );
    const { id } = (await add()).json;
    assertError(await add(), 409, 'CONFLICT');
    await merchant.delete(`/keys/${id}`);
    assert.equal((await add()).status, 200);
  });

  it('a revoked key is refused by every server', async () => {
    const { deskbell } = shop;
    const { id, key } = (await shop.post('/keys', { name: 'Lost' })).json;
    // SQLite has one server. The command line revokes from another process, see below.
    const second = engine === 'postgres' ? await startSecondServer(deskbell) : deskbell;
    try {
      const there = () => second.call('GET', '/api/v1/knowledge/', { token: key });
      assert.deepEqual([(await search(key)).status, (await there()).status], [200, 200]);
      const revoked = await shop.delete(`/keys/${id}`);
      assert.deepEqual([revoked.status, revoked.json], [200, { message: 'Key revoked.' }]);
      assertError(await search(key), 401, 'INVALID_TOKEN');
      await until('it is refused', async () => (await there()).status === 401);
    } finally {
      if (second !== deskbell) await second.close();
    }
    assertError(await shop.delete(`/keys/${id}`), 404, 'KEY_NOT_FOUND');
  });

  it('a key expires', async () => {
    const { clock } = shop.deskbell;
    const { key, expires_at } = (await shop.post('/keys', { name: 'Short', expires_in_days: 1 })).json;
    await clock.advance((Date.parse(expires_at) - clock.now().getTime()) / 1000 - 60);
    assert.equal((await search(key)).status, 200);
    await clock.advance(61);
    assertError(await search(key), 401, 'TOKEN_EXPIRED');
  });

  it('the history shows the key’s name where a person’s would stand', async () => {
    const token = await shop.key('answer');
    const id = await shop.raise();
    await shop.post(`/notification/${id}/answer`, { answer: 'From a key.' }, { token });
    const [listed] = (await shop.get(`/notification/?ids=${id}&include=answer`)).json;
    for (const { answered_by } of [(await shop.get(`/notification/${id}`)).json, listed])
      assert.equal(answered_by, 'Test key');
    const [document] = (await shop.get('/knowledge/?q=from+a+key')).json;
    const [version] = (await shop.get(`/knowledge/${document.id}`)).json.versions;
    assert.deepEqual([version.user_id, version.user_name], [null, 'Test key']);
    await shop.delete(`/notification/${id}`, { token });
    const [event] = (await shop.get('/audit?what=notification.deleted')).json;
    assert.deepEqual(event.who, { kind: 'key', user_id: null, name: 'Test key' });
  });
});

describe('what a key may do', () => {
  const shop = useMerchant('sqlite');
  const keys = new Map<string, string>();
  const keyWith = async (scopes: readonly Scope[]) => {
    const name = scopes.join(' ');
    const known = keys.get(name) ?? (await shop.key(...scopes));
    keys.set(name, known);
    return known;
  };

  it('is what its scopes say, and a refusal names the scope that it lacks', async () => {
    const refused = async (path: string, scope: Scope) => {
      const reply = await shop.get(path, { token: await keyWith([scope]) });
      assertError(reply, 403, 'INSUFFICIENT_SCOPE');
      return reply.json.detail;
    };
    assert.equal(await refused('/knowledge/', 'answer'), 'This key lacks the scope: knowledge:read.');
    const either = 'This key needs one of these scopes: ask, notifications:read.';
    assert.equal(await refused('/conversation/', 'answer'), either);
    const id = await shop.raise();
    const answer = async (scope: Scope) =>
      shop.post(`/notification/${id}/answer`, { answer: 'Yes.' }, { token: await keyWith([scope]) });
    assertError(await answer('notifications:read'), 403, 'INSUFFICIENT_SCOPE');
    assert.equal((await answer('answer')).status, 200);
  });

  it('every endpoint is closed without a token, and to keys without one of its scopes or to all keys', async () => {
    const { json: api } = await shop.deskbell.call('GET', '/openapi.json');
    let checked = 0;
    for (const [template, operations] of Object.entries<Record<string, Operation>>(api.paths)) {
      for (const [method, { security = [], requestBody }] of Object.entries(operations)) {
        if (security.length === 0 || template.endsWith('/keys/self')) continue;
        const allowed = security.flatMap(({ key = [] }) => key);
        const token = await keyWith(SCOPE_NAMES.filter((scope) => !allowed.includes(scope)));
        const path = template.replaceAll(/\{\w+\}/g, '1');
        const body = requestBody ? {} : undefined;
        const call = (options: CallOptions) => shop.deskbell.call(method.toUpperCase(), path, options);
        // The token is checked before the body.
        const unread = requestBody ? '{' : undefined;
        assertError(await call({ token: undefined, body: unread }), 401, 'INVALID_TOKEN');
        const { status, text } = await call({ token, body });
        // The account is for people: a key is no token there.
        const isAccount = /^\/(api\/v1\/auth|session)\//.test(template);
        assert.equal(status, isAccount ? 401 : 403, `${method} ${template}: ${text}`);
        checked += 1;
      }
    }
    assert.ok(checked > 50, `${checked} operations`);
    assertError(await shop.get('/keys/self'), 403, 'FORBIDDEN');
  });

  it('what is no key of ours is refused without saying why', async () => {
    const key = await shop.key();
    const changed = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    assert.deepEqual([hasValidForm(key), hasValidForm(changed)], [true, false]);
    const texts = new Set<string>();
    for (const token of [changed, 'dbk_', `${key}x`, key.toLowerCase(), 'dbk_'.padEnd(10_000, 'a')]) {
      const reply = await shop.get('/knowledge/', { token });
      assertError(reply, 401, 'INVALID_TOKEN');
      texts.add(reply.text);
    }
    assert.equal(texts.size, 1);
  });
});
