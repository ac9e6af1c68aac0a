import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hasValidForm } from '../../../src/auth/machineKeys/format.ts';
import { SCOPE_NAMES, type Scope } from '../../../src/contract/machineKeys.ts';
import { run, settingsOf } from '../../support/command.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  me,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const KEYS = '/api/v1/keys';

interface Operation {
  security?: { key?: Scope[] }[];
  requestBody?: object;
}

/** `npm run test:faults` measures how soon, which is below a second. */
async function refusedSoon(call: () => Promise<Reply>): Promise<void> {
  await until('it is refused', async () => (await call()).status !== 200);
  assertError(await call(), 401, 'INVALID_TOKEN');
}

onEachEngine('keys for machines', (engine) => {
  const deskbell = useDeskbell(engine);
  const create = (scopes?: readonly Scope[]) => createKey(deskbell, scopes);

  it('a key is shown once, stored as a hash, and may ask and search by default', async () => {
    const token = await deskbell.signIn();
    const { status, json } = await deskbell.call('POST', KEYS, { token, body: { name: ' Assistant ' } });
    assert.equal(status, 200);
    assert.match(json.key, /^dbk_[0-9A-Za-z]{38}$/);
    assert.deepEqual(
      [json.name, json.scopes, json.expires_at],
      ['Assistant', ['ask', 'knowledge:read'], null],
    );

    const listed = (await deskbell.call('GET', KEYS, { token })).json[0];
    assert.deepEqual([listed.name, listed.hint], ['Assistant', json.key.slice(0, 8)]);
    assert.equal('key' in listed, false);
    const rows = await deskbell.database.all('select * from machine_keys');
    assert.equal(JSON.stringify(rows).includes(json.key.slice(8)), false);

    assert.equal((await deskbell.call('GET', '/api/v1/knowledge/', { token: json.key })).status, 200);
    const self = await deskbell.call('GET', `${KEYS}/self`, { token: json.key });
    assert.deepEqual(self.json, { name: 'Assistant', scopes: ['ask', 'knowledge:read'], expires_at: null });
    let used: { last_used_at: string | null } = { last_used_at: null };
    // Written in the background.
    while (used.last_used_at === null) used = (await deskbell.call('GET', KEYS, { token })).json[0];
    assert.ok(Math.abs(Date.parse(used.last_used_at!) - deskbell.clock.now().getTime()) < 60_000);
  });

  it('each endpoint names the scope that a key lacks', async () => {
    const path = await raise(deskbell, await deskbell.signIn());
    const calls: [scope: Scope, method: string, path: string, body?: unknown][] = [
      ['ask', 'POST', `${NOTIFICATIONS}/request`, QUESTION],
      ['notifications:read', 'GET', `${NOTIFICATIONS}/`],
      ['notifications:read', 'GET', path],
      ['notifications:read', 'GET', '/api/v1/delivery/'],
      ['notifications:read', 'GET', '/api/v1/overview'],
      ['notifications:read', 'GET', '/api/v1/inbox'],
      ['notifications:read', 'GET', '/api/v1/inbox/counts'],
      ['knowledge:read', 'GET', '/api/v1/knowledge/'],
      ['knowledge:write', 'PATCH', '/api/v1/knowledge/1', { body: 'New text.' }],
      ['answer', 'POST', `${path}/answer`, { answer: 'Yes.' }],
      ['answer', 'DELETE', path],
    ];
    for (const [scope, method, url, body] of calls) {
      const without = await create(SCOPE_NAMES.filter((name) => name !== scope));
      const refused = await deskbell.call(method, url, { token: without, body });
      assertError(refused, 403, 'INSUFFICIENT_SCOPE');
      assert.equal(refused.json.detail, `This key lacks the scope: ${scope}.`, `${method} ${url}`);
      const withIt = await create([scope]);
      assert.equal(
        (await deskbell.call(method, url, { token: withIt, body })).status,
        200,
        `${method} ${url}`,
      );
    }
    const token = await create(['answer']);
    const refused = await deskbell.call('GET', '/api/v1/conversation/', { token });
    assert.equal(refused.json.detail, 'This key needs one of these scopes: ask, notifications:read.');
  });

  it('every endpoint of the document is closed to keys without one of its scopes, or to all keys', async () => {
    const { json: api } = await deskbell.call('GET', '/openapi.json');
    const keys = new Map<string, string>();
    const keyWith = async (scopes: readonly Scope[]) => {
      const name = scopes.join(' ');
      const known = keys.get(name) ?? (await create(scopes));
      keys.set(name, known);
      return known;
    };
    let checked = 0;
    for (const [template, operations] of Object.entries<Record<string, Operation>>(api.paths)) {
      for (const [method, { security = [], requestBody }] of Object.entries(operations)) {
        if (security.length === 0 || template.endsWith('/keys/self')) continue;
        const allowed = security.flatMap(({ key = [] }) => key);
        const token = await keyWith(SCOPE_NAMES.filter((scope) => !allowed.includes(scope)));
        const path = template.replaceAll(/\{\w+\}/g, '1');
        const body = requestBody ? {} : undefined;
        const { status, json } = await deskbell.call(method.toUpperCase(), path, { token, body });
        const isAccount = /^\/(api\/v1\/auth|session)\//.test(template);
        assert.equal(status, isAccount ? 401 : 403, `${method} ${template}: ${JSON.stringify(json)}`);
        checked += 1;
      }
    }
    assert.ok(checked > 50, `${checked} operations`);
  });

  it('a key cannot send a message to another number', async () => {
    const token = await deskbell.signIn();
    const path = await raise(deskbell, token);
    await deskbell.call('POST', `${path}/answer`, { token, body: { answer: 'A text for Lucía.' } });
    await deskbell.allSent();
    const [{ id }] = (await deskbell.call('GET', '/api/v1/delivery/?limit=1', { token })).json;
    const body = { recipient: '+34611999999' };
    const key = await create(['answer']);
    const reply = await deskbell.call('POST', `/api/v1/delivery/${id}/retry`, { token: key, body });
    assertError(reply, 403, 'INSUFFICIENT_SCOPE', 'recipient');
  });

  it('what is for people is refused: the account with 401, the rest with 403', async () => {
    const key = await create(SCOPE_NAMES);
    assertError(await me(deskbell, key), 401, 'INVALID_TOKEN');
    assertError(await deskbell.call('GET', '/api/v1/auth/sessions', { token: key }), 401, 'INVALID_TOKEN');
    for (const path of [KEYS, '/api/v1/audit', '/api/v1/simulator/1']) {
      assertError(await deskbell.call('GET', path, { token: key }), 403, 'INSUFFICIENT_SCOPE');
    }
    const body = { name: 'A second key' };
    assertError(await deskbell.call('POST', KEYS, { token: key, body }), 403, 'INSUFFICIENT_SCOPE');
    assertError(
      await deskbell.call('GET', `${KEYS}/self`, { token: await deskbell.signIn() }),
      403,
      'FORBIDDEN',
    );
  });

  it('only owners manage keys, and only those of their merchant', async () => {
    const owner = await deskbell.signIn();
    const created = (await deskbell.call('POST', KEYS, { token: owner, body: { name: 'Ours' } })).json;
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    const token = await deskbell.signIn(user.email, user.password);
    for (const [method, path] of [
      ['GET', KEYS],
      ['POST', KEYS],
      ['DELETE', `${KEYS}/${created.id}`],
    ] as const) {
      const body = method === 'POST' ? { name: 'Mine' } : undefined;
      assertError(await deskbell.call(method, path, { token, body }), 403, 'FORBIDDEN');
    }
    const other = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    assert.deepEqual((await deskbell.call('GET', KEYS, { token: other })).json, []);
    const foreign = await deskbell.call('DELETE', `${KEYS}/${created.id}`, { token: other });
    const absent = await deskbell.call('DELETE', `${KEYS}/999999`, { token: other });
    assertError(foreign, 404, 'KEY_NOT_FOUND');
    assert.equal(foreign.text, absent.text);
    assert.equal((await deskbell.call('GET', '/api/v1/knowledge/', { token: created.key })).status, 200);
  });

  it('a key sees only its merchant', async () => {
    const key = await createKey(deskbell, ['notifications:read'], BOREALIS);
    const list = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token: key });
    const own = await deskbell.call('GET', `${NOTIFICATIONS}/`, {
      token: await deskbell.signIn(BOREALIS.email, BOREALIS.password),
    });
    assert.equal(list.text, own.text);
    const path = await raise(deskbell, await deskbell.signIn());
    assertError(await deskbell.call('GET', path, { token: key }), 404, 'NOTIFICATION_NOT_FOUND');
  });

  it('a revoked key is refused by every server', async () => {
    const token = await deskbell.signIn();
    const { id, key } = (await deskbell.call('POST', KEYS, { token, body: { name: 'Lost' } })).json;
    // SQLite has one server. The command line revokes from another process, see below.
    const second = engine === 'postgres' ? await startSecondServer(deskbell) : deskbell;
    try {
      const search = (server: typeof deskbell) => server.call('GET', '/api/v1/knowledge/', { token: key });
      assert.deepEqual([(await search(deskbell)).status, (await search(second)).status], [200, 200]);
      const revoked = await deskbell.call('DELETE', `${KEYS}/${id}`, { token });
      assert.deepEqual([revoked.status, revoked.json], [200, { message: 'Key revoked.' }]);
      assertError(await search(deskbell), 401, 'INVALID_TOKEN');
      await refusedSoon(() => search(second));
    } finally {
      if (second !== deskbell) await second.close();
    }
    assertError(await deskbell.call('DELETE', `${KEYS}/${id}`, { token }), 404, 'KEY_NOT_FOUND');
  });

  it('a key expires', async () => {
    const token = await deskbell.signIn();
    const body = { name: 'Short', expires_in_days: 1 };
    const { key, expires_at } = (await deskbell.call('POST', KEYS, { token, body })).json;
    const search = () => deskbell.call('GET', '/api/v1/knowledge/', { token: key });
    assert.equal((await search()).status, 200);
    await deskbell.clock.advance((Date.parse(expires_at) - deskbell.clock.now().getTime()) / 1000 - 60);
    assert.equal((await search()).status, 200);
    await deskbell.clock.advance(61);
    assertError(await search(), 401, 'TOKEN_EXPIRED');
  });

  it('what is no key of ours is refused without saying why', async () => {
    const key = await create();
    const changed = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    assert.deepEqual([hasValidForm(key), hasValidForm(changed)], [true, false]);
    const replies = await Promise.all(
      [changed, 'dbk_', `${key}x`, key.toLowerCase(), 'dbk_'.padEnd(10_000, 'a')].map((token) =>
        deskbell.call('GET', '/api/v1/knowledge/', { token }),
      ),
    );
    for (const reply of replies) assertError(reply, 401, 'INVALID_TOKEN');
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
  });

  it('bad input is refused by field', async () => {
    const token = await deskbell.signIn();
    const bad: [field: string, body: unknown][] = [
      ['name', {}],
      ['name', { name: '' }],
      ['name', { name: '   ' }],
      ['name', { name: 'x'.repeat(101) }],
      ['name', { name: 'a\u0000b' }],
      ['scopes', { name: 'x', scopes: [] }],
      ['scopes', { name: 'x', scopes: ['everything'] }],
      ['scopes', { name: 'x', scopes: 'ask' }],
      ['expires_in_days', { name: 'x', expires_in_days: 0 }],
      ['expires_in_days', { name: 'x', expires_in_days: '1' }],
    ];
    for (const [field, body] of bad) {
      const reply = await deskbell.call('POST', KEYS, { token, body });
      assert.equal(reply.status, 422, JSON.stringify(body));
      assert.equal(reply.json.field?.split('.')[0], field, JSON.stringify(body));
    }
    assertError(await deskbell.call('DELETE', `${KEYS}/abc`, { token }), 404, 'KEY_NOT_FOUND');
  });

  it('the history shows the key’s name where a person’s would stand', async () => {
    const token = await deskbell.signIn();
    const key = await create(['answer', 'knowledge:write']);
    const path = await raise(deskbell, token);
    await deskbell.call('POST', `${path}/answer`, {
      token: key,
      body: { answer: 'From a key.' },
    });
    const answered = (await deskbell.call('GET', path, { token })).json;
    assert.equal(answered.answered_by, 'Test key');
    const query = `ids=${answered.id}&include=answer`;
    const [listed] = (await deskbell.call('GET', `${NOTIFICATIONS}/?${query}`, { token })).json;
    assert.equal(listed.answered_by, 'Test key');
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/?q=from+a+key', { token })).json;
    const { versions } = (await deskbell.call('GET', `/api/v1/knowledge/${document.id}`, { token })).json;
    assert.deepEqual([versions[0].user_id, versions[0].user_name], [null, 'Test key']);
    await deskbell.call('PATCH', `/api/v1/knowledge/${document.id}`, {
      token: key,
      body: { body: 'Changed.' },
    });
    const changed = (await deskbell.call('GET', `/api/v1/knowledge/${document.id}`, { token })).json;
    assert.equal(changed.versions[0].user_name, 'Test key');
    await deskbell.call('DELETE', path, { token: key });
    const [event] = (await deskbell.call('GET', '/api/v1/audit?what=notification.deleted', { token })).json;
    assert.deepEqual(event.who, { kind: 'key', user_id: null, name: 'Test key' });
  });

  it('the command line adds, lists and revokes keys', async () => {
    const env = settingsOf(deskbell);
    const added = JSON.parse((await run(['key', 'add', 'Bot', '--merchant', '1', '--json'], { env })).stdout);
    assert.equal((await deskbell.call('GET', '/api/v1/knowledge/', { token: added.key })).status, 200);
    const listed = (await run(['key', 'list', '--merchant', '1'], { env })).stdout;
    assert.match(listed, new RegExp(`Bot\\s+${added.hint}…\\s+ask knowledge:read`));
    const revoked = await run(['key', 'revoke', String(added.id), '--merchant', '1'], { env });
    assert.equal(revoked.stdout.trim(), `Key ${added.id}, Bot, was revoked.`);
    await refusedSoon(() => deskbell.call('GET', '/api/v1/knowledge/', { token: added.key }));
    assert.equal((await run(['key', 'revoke', String(added.id), '--merchant', '1'], { env })).code, 1);
  });
});

onEachEngine('the rate limit of keys', (engine) => {
  const deskbell = useDeskbell(engine, {
    RATE_LIMIT_PER_MINUTE: '30',
    RATE_LIMIT_PER_MINUTE_PER_MERCHANT: '100',
  });

  it('counts each key alone, and all keys of a merchant together', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => createKey(deskbell)));
    const useUp = async (token: string) => {
      for (let sent = 0; ; sent += 1) {
        const { status } = await deskbell.call('GET', '/api/v1/knowledge/9999', { token });
        if (status === 429) return sent;
      }
    };
    assert.deepEqual([await useUp(keys[0]!), await useUp(keys[1]!)], [30, 30]);
    await useUp(keys[2]!);
    assert.ok((await useUp(keys[3]!)) < 30, 'the merchant’s own limit');
    const other = await createKey(deskbell, undefined, BOREALIS);
    assert.equal(await useUp(other), 30);
  });
});
