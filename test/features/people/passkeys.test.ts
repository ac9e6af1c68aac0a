import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { SERVER } from '../../../src/audit/record.ts';
import { resetFactors } from '../../../src/auth/factors/change.ts';
import type { Param } from '../../../src/database/database.ts';
import {
  AUTH,
  Authenticator,
  addPasskey,
  addUserWithTotp,
  atLocalhost,
  DASHBOARD,
  factorsOf,
  loginWith,
  passkeyOptions,
  sendPasskey,
  signInWithPasskey,
} from '../../support/factors.ts';
import {
  addUser,
  assertError,
  type Deskbell,
  login,
  me,
  onEachEngine,
  type Reply,
  refresh,
  useDeskbell,
} from '../../support/server.ts';

onEachEngine('passkeys', (engine) => {
  // Not about the database.
  const once = { skip: engine === 'postgres' };
  const server = useDeskbell(engine);
  let deskbell: Deskbell;
  before(() => {
    deskbell = atLocalhost(server);
  });

  async function addUserWithPasskey() {
    const user = await addUser(deskbell);
    const { json: tokens } = await login(deskbell, user);
    const phone = new Authenticator(deskbell.url);
    const caller = { token: tokens.access_token, password: user.password };
    const reply = await addPasskey(deskbell, phone, caller);
    assert.equal(reply.status, 200, reply.text);
    return { ...user, tokens, phone, caller, recoveryCodes: reply.json.recovery_codes as string[] };
  }
  /** The first half of adding one. */
  const begin = (token: string, password: string) =>
    deskbell.call('POST', `${AUTH}/passkeys/options`, { token, body: { password } });
  const refused = (reply: Reply) => assertError(reply, 401, 'INVALID_CREDENTIALS');

  it('sign in to the dashboard without password and code, with the same cookie', once, async () => {
    const user = await addUserWithPasskey();
    const reply = await signInWithPasskey(deskbell, user.phone);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(Object.keys(reply.json), ['access_token', 'token_type', 'expires_in']);
    assert.equal((await me(deskbell, reply.json.access_token)).json.id, user.id);
    const cookie = reply.headers.get('set-cookie')!;
    assert.match(cookie, /HttpOnly; SameSite=Strict/);
    const renewed = await deskbell.call('POST', '/session/refresh', {
      headers: { ...DASHBOARD, cookie: cookie.split(';')[0]! },
    });
    assert.equal(renewed.status, 200, renewed.text);
    const { passkeys } = await factorsOf(deskbell, reply.json.access_token);
    assert.equal(passkeys[0].name, 'My phone');
    assert.ok(passkeys[0].last_used_at);
  });

  it('open no session if they are removed in the meantime', async () => {
    const user = await addUserWithPasskey();
    const { database } = server;
    const { run } = database;
    database.run = async <Row>(sql: string, params?: readonly Param[]) => {
      const rows = await run<Row>(sql, params);
      if (sql.startsWith('update passkeys set counter')) {
        database.run = run;
        await resetFactors(database, user.id, SERVER, server.clock.now());
      }
      return rows;
    };
    try {
      assert.equal((await signInWithPasskey(deskbell, user.phone)).status, 401);
      assert.equal(database.run, run, 'the passkey was removed');
    } finally {
      database.run = run;
    }
  });

  it('are a second factor: the password alone is MFA_REQUIRED, with a recovery code it works', async () => {
    const user = await addUserWithPasskey();
    assert.equal(user.recoveryCodes.length, 10);
    assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
    assert.equal((await loginWith(deskbell, user, user.recoveryCodes[0])).status, 200);
  });

  it('bring recovery codes only if they are the first factor, and take them with the last', async () => {
    const user = await addUserWithTotp(deskbell);
    const token = user.tokens.access_token;
    const other = (await loginWith(deskbell, user, user.recoveryCodes[0])).json;
    const caller = { token, password: user.password };
    const added = await addPasskey(deskbell, new Authenticator(deskbell.url), caller);
    assert.deepEqual(added.json, { recovery_codes: [] });
    assertError(await refresh(deskbell, other.refresh_token), 401, 'INVALID_TOKEN');
    const body = { password: user.password };
    assert.equal((await deskbell.call('DELETE', `${AUTH}/totp`, { token, body })).status, 200);
    const { passkeys, ...rest } = await factorsOf(deskbell, token);
    assert.deepEqual(rest, { totp: false, recovery_codes_left: 9 });
    assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
    const removed = await deskbell.call('DELETE', `${AUTH}/passkeys/${passkeys[0].id}`, { token, body });
    assert.equal(removed.status, 200, removed.text);
    assert.equal((await factorsOf(deskbell, token)).recovery_codes_left, 0);
    assert.equal((await login(deskbell, user)).status, 200);
  });

  it('an answer works once: sent again, or by two at the same time, it is refused', async () => {
    const { phone } = await addUserWithPasskey();
    const answer = phone.get((await passkeyOptions(deskbell)).json);
    const replies = await Promise.all([1, 2, 3].map(() => sendPasskey(deskbell, answer)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    refused(await sendPasskey(deskbell, answer));
    // Not even with a new signature of the same challenge.
    const { json: options } = await passkeyOptions(deskbell);
    assert.equal((await sendPasskey(deskbell, phone.get(options))).status, 200);
    refused(await sendPasskey(deskbell, phone.get(options)));
  });

  it('a challenge that expired, is not ours or was made for something else is refused', once, async () => {
    const user = await addUserWithPasskey();
    const forAdding = await begin(user.caller.token, user.password);
    const { challenge: made } = (await passkeyOptions(deskbell)).json;
    const text = Buffer.from(made, 'base64url').toString();
    const later = Buffer.from(text.replace(/^\d+/, (expiry) => String(Number(expiry) + 1)));
    for (const challenge of ['AAAA', '', later.toString('base64url'), forAdding.json.challenge])
      refused(await sendPasskey(deskbell, user.phone.get({ challenge })));
    await deskbell.clock.advance(301);
    refused(await sendPasskey(deskbell, user.phone.get({ challenge: made })));
  });

  it('an answer for another site, without the PIN or from a copied device is refused', once, async () => {
    const { phone } = await addUserWithPasskey();
    for (const wrong of [
      { origin: 'https://desk.example' },
      { rpId: 'a.example' },
      { verifiesUser: false },
    ]) {
      const { origin, rpId, verifiesUser } = phone;
      Object.assign(phone, wrong);
      refused(await signInWithPasskey(deskbell, phone));
      Object.assign(phone, { origin, rpId, verifiesUser });
    }
    assert.equal((await signInWithPasskey(deskbell, phone)).status, 200);
    // A copy does not know how often the original was used.
    phone.counter = 0;
    refused(await signInWithPasskey(deskbell, phone));
  });

  it('an unknown passkey, and one whose user is disabled, get the same response', async () => {
    const { id, phone } = await addUserWithPasskey();
    await deskbell.database.run('update users set disabled_at = created_at where id = $1', [id]);
    const disabled = await signInWithPasskey(deskbell, phone);
    const unknown = await signInWithPasskey(deskbell, new Authenticator(deskbell.url));
    refused(disabled);
    assert.equal(unknown.text, disabled.text);
    assert.equal(disabled.headers.get('set-cookie'), null);
  });

  it('are added only by the user who started it, once, and with the password', async () => {
    const user = await addUser(deskbell);
    const stranger = await addUser(deskbell);
    const token = (await login(deskbell, user)).json.access_token;
    const others = (await login(deskbell, stranger)).json.access_token;
    assertError(await begin(token, 'wrong'), 403, 'FORBIDDEN', 'password');
    const { json: options } = await begin(token, user.password);
    assert.deepEqual(
      [options.rp.id, options.authenticatorSelection.userVerification],
      ['localhost', 'required'],
    );
    const add = (as: string, phone: Authenticator, name = 'Phone') => {
      const body = { name, response: phone.create(options) };
      return deskbell.call('POST', `${AUTH}/passkeys`, { token: as, body });
    };
    const phone = new Authenticator(deskbell.url);
    assertError(await add(others, phone), 403, 'FORBIDDEN');
    assertError(await add(token, phone, ''), 422, 'VALIDATION_ERROR', 'name');
    assert.equal((await add(token, phone)).status, 200);
    assertError(await add(token, new Authenticator(deskbell.url)), 403, 'FORBIDDEN');
    // The same passkey for another user.
    const taken = await addPasskey(deskbell, phone, { token: others, password: stranger.password });
    assertError(taken, 403, 'FORBIDDEN');
    assert.equal((await login(deskbell, stranger)).status, 200);
  });

  it('belong to the user alone: nobody else sees or removes them', async () => {
    const user = await addUserWithPasskey();
    const stranger = await addUser(deskbell);
    const token = (await login(deskbell, stranger)).json.access_token;
    const [passkey] = (await factorsOf(deskbell, user.caller.token)).passkeys;
    assert.deepEqual((await factorsOf(deskbell, token)).passkeys, []);
    for (const id of [passkey.id, 999_999, 'abc', '0', '%']) {
      const body = { password: stranger.password };
      const reply = await deskbell.call('DELETE', `${AUTH}/passkeys/${id}`, { token, body });
      assertError(reply, 404, 'NOT_FOUND');
    }
    assert.equal((await signInWithPasskey(deskbell, user.phone)).status, 200);
  });

  it('broken answers are refused, and a host without a name', once, async () => {
    const { phone } = await addUserWithPasskey();
    const good = phone.get((await passkeyOptions(deskbell)).json);
    for (const broken of ['signature', 'authenticatorData', 'clientDataJSON'])
      refused(await sendPasskey(deskbell, { ...good, response: { ...good.response, [broken]: 'AAAA' } }));
    const empty = await sendPasskey(deskbell, { ...good, response: {} });
    assertError(empty, 422, 'VALIDATION_ERROR', 'clientDataJSON');
    assertError(await passkeyOptions(server), 409, 'CONFLICT');
  });
});
