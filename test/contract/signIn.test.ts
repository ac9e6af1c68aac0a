import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { describe, it } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { disableUser } from '../../src/auth/users.ts';
import type { Database } from '../../src/database/database.ts';
import { useMerchant } from '../support/merchants.ts';
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
  const disabledUser = async () => {
    const user = await addUser(deskbell);
    await disableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    return user;
  };

  it('with an email address and a password gives two JWTs, their type and the seconds of the access token', async () => {
    const reply = await login(deskbell);
    assert.equal(reply.status, 200, reply.text);
    const { access_token, refresh_token, ...rest } = reply.json;
    assert.deepEqual(rest, { token_type: 'bearer', expires_in: 900 });
    for (const token of [access_token, refresh_token])
      assert.equal(decodeProtectedHeader(token).alg, 'EdDSA');
    assert.match(reply.headers.get('content-type')!, /^application\/json/);
    assert.equal(reply.headers.get('cache-control'), 'no-store');
  });

  it('ignores the case of an address, spaces around it, unknown fields and an old token', async () => {
    for (const email of ['OWNER@AURORA.EXAMPLE', '  owner@aurora.example ']) {
      const body = { email, password: AURORA.password, role: 'admin', merchant_id: 2, user: { id: 2 } };
      const headers = { authorization: 'Bearer stale' };
      const reply = await deskbell.call('POST', '/api/v1/auth/login', { body, headers });
      assert.equal(reply.status, 200, reply.text);
    }
    // An operator has no merchant.
    assert.equal((await login(deskbell, OPERATOR)).status, 200);
  });

  it('fails alike, byte for byte, with a wrong password, an unknown address and a disabled user', async () => {
    const wrong = await login(deskbell, WRONG);
    assertError(wrong, 401, 'INVALID_CREDENTIALS');
    const names = (reply: Reply) => [...reply.headers.keys()];
    for (const user of [UNKNOWN, await disabledUser()]) {
      const other = await login(deskbell, user);
      assert.deepEqual([other.text, names(other)], [wrong.text, names(wrong)]);
    }
  });

  it('needs the same work for a known and an unknown address, so timing reveals nothing', async () => {
    const disabled = await disabledUser();
    const known = await workOf(deskbell, () => login(deskbell, WRONG));
    assert.equal(known.hashes, 1);
    for (const user of [UNKNOWN, disabled])
      assert.deepEqual(await workOf(deskbell, () => login(deskbell, user)), known);
  });

  it('needs the exact password, and treats strange texts as an unknown address', async () => {
    for (const password of ['Aurora-Demo', 'aurora-demo ', 'aurora-demo\0'])
      assertError(await login(deskbell, { ...AURORA, password }), 401, 'INVALID_CREDENTIALS');
    for (const email of ['a\0b@x.example', '\ud800', "' or 1=1 --", 'x'.repeat(320)]) {
      // A string body is sent unchanged. Clients in other languages may send an escaped lone surrogate.
      const body = `{"email":${JSON.stringify(email)},"password":"\\u0000\\ud800"}`;
      const reply = await deskbell.call('POST', '/api/v1/auth/login', { body });
      assertError(reply, 401, 'INVALID_CREDENTIALS');
    }
  });

  it('neither logs nor stores a password or a token, and logs no email address', async () => {
    const { json } = await login(deskbell);
    await login(deskbell, WRONG);
    await deskbell.call('POST', '/api/v1/auth/login', { body: '{"password":"half-a-body' });
    const log = deskbell.logged.join('');
    assert.match(log, /\/api\/v1\/auth\/login/);
    const secrets = [AURORA.email, AURORA.password, WRONG.password, 'half-a-body', json.access_token];
    for (const secret of [...secrets, json.refresh_token]) assert.ok(!log.includes(secret), secret);
    const rows = await deskbell.database.all(
      'select s.*, u.* from sessions s join users u on u.id = s.user_id',
    );
    const stored = JSON.stringify(rows);
    const signatures = [json.access_token, json.refresh_token].map((token) => token.split('.')[2]);
    for (const secret of [...signatures, AURORA.password]) assert.ok(!stored.includes(secret));
  });
});

describe('the bodies of the auth endpoints', () => {
  const shop = useMerchant('sqlite');
  const { email, password } = AURORA;

  const LOGIN: [body: unknown, field: string][] = [
    ['', 'email'],
    [{ password }, 'email'],
    [{ email }, 'password'],
    ...[null, 5, [email], { $ne: '' }, 'x'.repeat(321)].map((value): [object, string] => [
      { email: value, password },
      'email',
    ]),
    ...[12345678, '', 'x'.repeat(1025)].map((value): [object, string] => [
      { email, password: value },
      'password',
    ]),
    [`{"__proto__":${JSON.stringify(AURORA)}}`, 'email'],
  ];
  const REFRESH: typeof LOGIN = [undefined, null, 1, ['a.b.c'], ''].map((value) => [
    { refresh_token: value },
    'refresh_token',
  ]);

  for (const [endpoint, cases] of [
    ['login', LOGIN],
    ['refresh', REFRESH],
    ['logout', REFRESH.slice(0, 1)],
  ] as const)
    it(`that ${endpoint} refuses get 422, with the name of the field`, async () => {
      for (const [body, field] of [...cases, ['[]', 'body'] as const]) {
        const reply = await shop.deskbell.call('POST', `/api/v1/auth/${endpoint}`, { body });
        assertError(reply, 422, 'VALIDATION_ERROR', field);
        assert.ok(reply.json.detail.includes(field));
      }
    });
});

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
