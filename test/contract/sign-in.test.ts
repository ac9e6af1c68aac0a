import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { it } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { disableUser } from '../../src/auth/users.ts';
import type { Database } from '../../src/database/database.ts';
import {
  AURORA,
  addUser,
  assertError,
  type Deskbell,
  login,
  OPERATOR,
  onEachEngine,
  type Reply,
  useDeskbell,
} from '../support/server.ts';

const UNKNOWN = { email: 'nobody@aurora.example', password: AURORA.password };
const WRONG = { email: AURORA.email, password: 'not-the-password' };

onEachEngine('sign-in', (engine) => {
  // No background work, because a test counts the statements.
  const deskbell = useDeskbell(engine, { WORKER: 'false' });

  it('an email address and a password give two JWTs, their type and the lifetime of the access token in seconds', async () => {
    const reply = await login(deskbell);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(Object.keys(reply.json).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ]);
    assert.equal(reply.json.token_type, 'bearer');
    assert.equal(reply.json.expires_in, 900);
    for (const token of [reply.json.access_token, reply.json.refresh_token]) {
      assert.equal(decodeProtectedHeader(token).alg, 'EdDSA');
    }
    assert.match(reply.headers.get('content-type')!, /^application\/json/);
    assert.equal(reply.headers.get('cache-control'), 'no-store');
  });

  const spellings = {
    'in capitals': 'OWNER@AURORA.EXAMPLE',
    'in mixed case': 'Owner@Aurora.example',
    'with spaces around it': '  owner@aurora.example ',
  };
  for (const [title, email] of Object.entries(spellings)) {
    it(`an email address ${title} is the same address`, async () => {
      assert.equal((await login(deskbell, { email, password: AURORA.password })).status, 200);
    });
  }

  for (const password of ['Aurora-Demo', ' aurora-demo', 'aurora-demo ', 'aurora-dem', 'aurora-demo\0']) {
    it(`a password must match exactly: ${JSON.stringify(password)} is wrong`, async () => {
      const { email } = await addUser(deskbell);
      assertError(await login(deskbell, { email, password }), 401, 'INVALID_CREDENTIALS');
    });
  }

  it('unknown fields are ignored', async () => {
    const body = { ...AURORA, remember_me: true, role: 'admin', merchant_id: 2, user: { id: 2 } };
    const reply = await deskbell.call('POST', '/api/v1/auth/login', { body });
    assert.equal(reply.status, 200, reply.text);
  });

  it('an old or broken bearer token does not prevent a new sign-in', async () => {
    assert.equal((await login(deskbell, AURORA, { authorization: 'Bearer stale' })).status, 200);
  });

  it('an operator, who has no merchant, signs in like any user', async () => {
    assert.equal((await login(deskbell, OPERATOR)).status, 200);
  });

  it('a wrong password, an unknown email and a disabled user get the same response, byte for byte', async () => {
    const disabled = await addUser(deskbell);
    await disableUser(deskbell.database, disabled.id, deskbell.clock.now(), SERVER);
    const wrong = await login(deskbell, WRONG);
    assertError(wrong, 401, 'INVALID_CREDENTIALS');
    for (const user of [UNKNOWN, disabled]) {
      const other = await login(deskbell, user);
      assert.equal(other.text, wrong.text);
      assert.deepEqual(comparableHeaders(other), comparableHeaders(wrong));
    }
  });

  it('a known and an unknown email need the same work, so timing reveals nothing', async () => {
    const disabled = await addUser(deskbell);
    await disableUser(deskbell.database, disabled.id, deskbell.clock.now(), SERVER);
    const known = await workOf(deskbell, () => login(deskbell, WRONG));
    assert.equal(known.hashes, 1);
    assert.deepEqual(await workOf(deskbell, () => login(deskbell, UNKNOWN)), known);
    assert.deepEqual(await workOf(deskbell, () => login(deskbell, disabled)), known);
  });

  const strange = ['\0', 'a\0b@x.example', '\ud800', "' or 1=1 --", '💥@x.example', ' ', 'x'.repeat(320)];
  for (const email of strange) {
    it(`the email ${JSON.stringify(email).slice(0, 24)} is treated as unknown`, async () => {
      // A string body is sent unchanged. Clients in other languages may send an escaped lone surrogate.
      const body = `{"email":${JSON.stringify(email)},"password":"\\u0000\\ud800"}`;
      const reply = await deskbell.call('POST', '/api/v1/auth/login', { body });
      assertError(reply, 401, 'INVALID_CREDENTIALS');
    });
  }

  it('no password, email address or token is ever logged', async () => {
    const good = await login(deskbell);
    await login(deskbell, WRONG);
    await deskbell.call('POST', '/api/v1/auth/login', { body: '{"password":"half-a-body' });
    const log = deskbell.logged.join('');
    assert.match(log, /\/api\/v1\/auth\/login/);
    const secrets = [AURORA.email, AURORA.password, WRONG.password, 'half-a-body', good.json.access_token];
    for (const secret of [...secrets, good.json.refresh_token]) assert.ok(!log.includes(secret), secret);
  });

  it('neither a token nor a password is stored in the database', async () => {
    const { json } = await login(deskbell);
    const rows = await deskbell.database.all(
      'select s.*, u.* from sessions s join users u on u.id = s.user_id order by s.created_at desc',
    );
    assert.ok(rows.length > 0);
    const stored = JSON.stringify(rows);
    const signatures = [json.access_token, json.refresh_token].map((token) => token.split('.')[2]);
    for (const secret of [...signatures, AURORA.password]) assert.ok(!stored.includes(secret));
  });

  for (const path of ['/auth/login', '/api/auth/login', '/api/v2/auth/login']) {
    it(`the version is part of the path: ${path} does not exist`, async () => {
      assertError(await deskbell.call('POST', path, { body: AURORA }), 404, 'NOT_FOUND');
    });
  }
});

onEachEngine('bodies of the auth endpoints', (engine) => {
  const deskbell = useDeskbell(engine);
  const { email, password } = AURORA;
  const deep = '['.repeat(70) + ']'.repeat(70);

  const loginBodies: [title: string, body: unknown, field: string][] = [
    ['an empty object', {}, 'email'],
    ['no e-mail', { password }, 'email'],
    ['no password', { email }, 'password'],
    ['e-mail null', { email: null, password }, 'email'],
    ['e-mail a number', { email: 5, password }, 'email'],
    ['e-mail true', { email: true, password }, 'email'],
    ['e-mail a list', { email: [email], password }, 'email'],
    ['e-mail an object', { email: { $ne: '' }, password }, 'email'],
    ['e-mail empty', { email: '', password }, 'email'],
    ['e-mail of 321 characters', { email: 'x'.repeat(321), password }, 'email'],
    ['password null', { email, password: null }, 'password'],
    ['password a number', { email, password: 12345678 }, 'password'],
    ['password a list', { email, password: [password] }, 'password'],
    ['password empty', { email, password: '' }, 'password'],
    ['password of 1,025 characters', { email, password: 'x'.repeat(1025) }, 'password'],
    ['fields of a prototype', `{"__proto__":${JSON.stringify(AURORA)}}`, 'email'],
    ['fields in capitals', { Email: email, Password: password }, 'email'],
    ['e-mail broken and nested too deep', `{"email":${deep},"password":"x"}`, 'body'],
  ];
  const refreshBodies: typeof loginBodies = [
    ['an empty object', {}, 'refresh_token'],
    ['null', { refresh_token: null }, 'refresh_token'],
    ['a number', { refresh_token: 1 }, 'refresh_token'],
    ['a list', { refresh_token: ['a.b.c'] }, 'refresh_token'],
    ['an empty text', { refresh_token: '' }, 'refresh_token'],
  ];
  const noObjects: typeof loginBodies = ['[]', 'null', 'true', '42', '"text"', '[{}]']
    .map((body): (typeof loginBodies)[number] => [`${body} for an object`, body, 'body'])
    .concat([
      ['JSON that breaks off', '{"email":"owner@', 'body'],
      ['JSON with a comma too many', '{"email":"a","password":"b",}', 'body'],
      ['single quotes', "{'email':'a','password':'b'}", 'body'],
      ['two values', '{}{}', 'body'],
    ]);
  const endpoints = [
    ['login', [...loginBodies, ...noObjects, ['an empty body', '', 'email']]],
    ['refresh', [...refreshBodies, ...noObjects, ['an empty body', '', 'refresh_token']]],
    ['logout', [...refreshBodies, ...noObjects]],
  ] as [string, typeof loginBodies][];

  for (const [endpoint, cases] of endpoints) {
    for (const [title, body, field] of cases) {
      it(`${endpoint} with ${title} names the field: ${field}`, async () => {
        const reply = await deskbell.call('POST', `/api/v1/auth/${endpoint}`, { body });
        assertError(reply, 422, 'VALIDATION_ERROR', field);
        assert.ok(reply.json.detail.includes(field));
      });
    }

    it(`${endpoint} without any body is also a validation error`, async () => {
      const reply = await deskbell.call('POST', `/api/v1/auth/${endpoint}`);
      assertError(reply, 422, 'VALIDATION_ERROR', endpoint === 'login' ? 'email' : 'refresh_token');
    });
  }

  it('a missing and an empty field are both reported as required', async () => {
    for (const body of [{ password }, { email: '', password }]) {
      const reply = await deskbell.call('POST', '/api/v1/auth/login', { body });
      assert.equal(reply.json.detail, 'email is required');
    }
  });
});

/** Everything except the headers that differ for each request. */
function comparableHeaders({ headers }: Reply): Record<string, string> {
  const { 'x-request-id': _id, date: _date, ...rest } = Object.fromEntries(headers);
  return rest;
}

/** Tables that the server reads every second or two without a request, and that a sign-in has nothing to do with. */
const BACKGROUND =
  /from (revocations|asks|new_events|merchants|webhook_endpoints|delivery_queues|inbound_updates|channel_stops|notifications|inbox_changes|alert_logs|alert_settings|mails)\b/;

/** What the server did during `act`: its statements, and how often it computed a password hash. */
async function workOf(
  { database }: Deskbell,
  act: () => Promise<Reply>,
): Promise<{ statements: string[]; hashes: number }> {
  const statements: string[] = [];
  let hashes = 0;
  const original = { ...database };
  for (const name of ['all', 'one', 'run'] as const) {
    const noted = (sql: string, params: []) => {
      if (!BACKGROUND.test(sql)) statements.push(sql);
      return original[name](sql, params);
    };
    Object.assign(database, { [name]: noted } as Partial<Database>);
  }
  // The native hash is the only work here without a specific type name.
  const hook = createHook({
    init(_id, type) {
      if (type === 'undefined') hashes += 1;
    },
  }).enable();
  try {
    assertError(await act(), 401, 'INVALID_CREDENTIALS');
  } finally {
    hook.disable();
    Object.assign(database, original);
  }
  return { statements, hashes };
}
