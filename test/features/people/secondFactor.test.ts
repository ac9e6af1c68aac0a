import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FAILURES_MAX } from '../../../src/auth/attempts.ts';
import { run, settingsOf } from '../../support/command.ts';
import {
  AUTH,
  addUserWithTotp,
  codeOf,
  DASHBOARD,
  factorsOf,
  loginWith,
  turnOnTotp,
} from '../../support/factors.ts';
import {
  AURORA,
  addUser,
  assertError,
  login,
  me,
  onEachEngine,
  outcome,
  type Reply,
  refresh,
  useDeskbell,
} from '../../support/server.ts';

const NONE = { totp: false, passkeys: [], recovery_codes_left: 0 };

onEachEngine('a second factor', (engine) => {
  // Not about the database.
  const once = { skip: engine === 'postgres' };
  const deskbell = useDeskbell(engine);
  // Otherwise the next 30 seconds may begin between two lines of a test, and a used code would be a new one.
  before(() => deskbell.clock.stop());
  /** Codes are used up, so every sign-in of a test takes the next one. */
  const nextCode = async (secret: string) => {
    await deskbell.clock.advance(30);
    return codeOf(deskbell, secret);
  };

  const post = (token: string, path: string, body: object) =>
    deskbell.call('POST', AUTH + path, { token, body });
  const turnOff = (token: string, body: object) => deskbell.call('DELETE', `${AUTH}/totp`, { token, body });
  const wrongOtp = (reply: Reply) => assertError(reply, 401, 'INVALID_CREDENTIALS', 'otp');
  const ended = async ({ refresh_token }: { refresh_token: string }) =>
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
  const isOpen = async ({ refresh_token }: { refresh_token: string }) =>
    assert.equal((await refresh(deskbell, refresh_token)).status, 200);
  const accepted = (replies: Reply[]) => replies.filter(({ status }) => status === 200).length;

  it('needs the password and a code: without a code it is MFA_REQUIRED; each code works once', async () => {
    const user = await addUserWithTotp(deskbell);
    for (const otp of [undefined, ''])
      assertError(await loginWith(deskbell, user, otp), 401, 'MFA_REQUIRED', 'otp');
    // The one that confirmed the app is used up.
    wrongOtp(await loginWith(deskbell, user, codeOf(deskbell, user.secret)));
    const code = await nextCode(user.secret);
    const reply = await loginWith(deskbell, user, code);
    assert.equal((await me(deskbell, reply.json.access_token)).json.id, user.id);
    wrongOtp(await loginWith(deskbell, user, code));
  });

  it('the dashboard asks for the code too', once, async () => {
    const user = await addUserWithTotp(deskbell);
    const signIn = (otp?: string) =>
      deskbell.call('POST', '/session/login', { headers: DASHBOARD, body: { ...user, otp } });
    const missing = await signIn();
    assertError(missing, 401, 'MFA_REQUIRED', 'otp');
    assert.equal(missing.headers.get('set-cookie'), null);
    assertError(await signIn('000000'), 401, 'INVALID_CREDENTIALS', 'otp');
    assert.equal((await signIn(await nextCode(user.secret))).status, 200);
  });

  it('a wrong password gets the same response as without a second factor', once, async () => {
    const user = await addUserWithTotp(deskbell);
    const plain = await login(deskbell, { ...(await addUser(deskbell)), password: 'wrong' });
    assertError(plain, 401, 'INVALID_CREDENTIALS');
    for (const otp of [undefined, '000000', codeOf(deskbell, user.secret, 1)]) {
      const reply = await loginWith(deskbell, { ...user, password: 'wrong' }, otp);
      assert.deepEqual(outcome(reply), outcome(plain));
    }
    // The code was not used up.
    assert.equal((await loginWith(deskbell, user, codeOf(deskbell, user.secret, 1))).status, 200);
  });

  it('of many requests at once with one code, one gets a session', async () => {
    const user = await addUserWithTotp(deskbell);
    const code = await nextCode(user.secret);
    const replies = await Promise.all(Array.from({ length: 6 }, () => loginWith(deskbell, user, code)));
    assert.equal(accepted(replies), 1);
    for (const reply of replies) if (reply.status !== 200) wrongOtp(reply);
  });

  it('the clock of the app may differ by 30 seconds, but no more', once, async () => {
    const user = await addUserWithTotp(deskbell);
    await deskbell.clock.advance(90);
    for (const steps of [2, -2])
      wrongOtp(await loginWith(deskbell, user, codeOf(deskbell, user.secret, steps)));
    assert.equal((await loginWith(deskbell, user, codeOf(deskbell, user.secret, -1))).status, 200);
  });

  it('wrong codes count as failed sign-ins, missing ones do not', once, async () => {
    const user = await addUserWithTotp(deskbell);
    for (let count = 0; count <= FAILURES_MAX; count += 1)
      assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
    const guesses = ['000000', '0', 'abcdef', 'x'.repeat(64), '0000-0000-0000-0000'];
    for (const otp of [...guesses, ...guesses]) wrongOtp(await loginWith(deskbell, user, otp));
    // Above the limit every response is the same, so that nothing shows which password or code is right.
    const code = await nextCode(user.secret);
    for (const otp of [undefined, '000000', code, user.recoveryCodes[0]])
      assertError(await loginWith(deskbell, user, otp), 429, 'RATE_LIMITED');
  });

  it('a recovery code works once instead of a code, in any spelling', async () => {
    const user = await addUserWithTotp(deskbell);
    assert.equal(new Set(user.recoveryCodes).size, 10);
    const [first, second] = user.recoveryCodes as [string, string];
    assert.match(first, /^(?:[\da-hjkmnp-tv-z]{4}-){5}[\da-hjkmnp-tv-z]{4}$/);
    assert.equal((await loginWith(deskbell, user, first)).status, 200);
    wrongOtp(await loginWith(deskbell, user, first));
    const spelled = ` ${second.toUpperCase().replaceAll('-', ' ')} `;
    const replies = await Promise.all([1, 2, 3].map(() => loginWith(deskbell, user, spelled)));
    assert.equal(accepted(replies), 1);
    const factors = await factorsOf(deskbell, user.tokens.access_token);
    assert.deepEqual(factors, { totp: true, passkeys: [], recovery_codes_left: 8 });
  });

  it('codes of one user are worth nothing for another, who neither sees nor changes the factors', async () => {
    const user = await addUserWithTotp(deskbell);
    const other = await addUserWithTotp(deskbell);
    for (const otp of [await nextCode(other.secret), other.recoveryCodes[0]])
      wrongOtp(await loginWith(deskbell, user, otp));
    const stranger = await addUser(deskbell);
    const token = (await login(deskbell, stranger)).json.access_token;
    assert.deepEqual(await factorsOf(deskbell, token), NONE);
    assertError(await turnOff(token, { otp: other.recoveryCodes[0] }), 403, 'FORBIDDEN', 'otp');
    assertError(await turnOff(token, { password: stranger.password }), 404, 'NOT_FOUND');
    const { recovery_codes_left } = await factorsOf(deskbell, other.tokens.access_token);
    assert.equal(recovery_codes_left, 10);
  });

  const CHANGES = [
    ['POST', '/totp'],
    ['DELETE', '/totp'],
    ['POST', '/recovery-codes'],
    ['DELETE', '/passkeys/1'],
  ] as const;

  it('changes only with the password or a code, and wrong ones count as failed sign-ins', async () => {
    const user = await addUserWithTotp(deskbell);
    const token = user.tokens.access_token;
    for (const [method, path] of CHANGES) {
      const without = await deskbell.call(method, AUTH + path, { token, body: {} });
      assertError(without, 422, 'VALIDATION_ERROR', 'password');
      const wrong = await deskbell.call(method, AUTH + path, { token, body: { password: 'wrong' } });
      assertError(wrong, 403, 'FORBIDDEN', 'password');
      const used = codeOf(deskbell, user.secret, -3);
      const wrongCode = await deskbell.call(method, AUTH + path, { token, body: { otp: used } });
      assertError(wrongCode, 403, 'FORBIDDEN', 'otp');
    }
    for (let count = 2 * CHANGES.length; count < FAILURES_MAX; count += 1)
      await turnOff(token, { password: 'wrong' });
    assertError(await turnOff(token, { password: user.password }), 429, 'RATE_LIMITED');
    assertError(await loginWith(deskbell, user, user.recoveryCodes[0]), 429, 'RATE_LIMITED');
    assert.equal((await factorsOf(deskbell, token)).totp, true);
  });

  it('an app is set up with a secret, a QR address and a first code', once, async () => {
    const user = await addUser(deskbell);
    const { access_token: token } = (await login(deskbell, user)).json;
    const start = () => post(token, '/totp', { password: user.password });
    const confirm = (otp: string) => post(token, '/totp/confirm', { otp });
    assertError(await confirm('000000'), 404, 'NOT_FOUND');
    const first = (await start()).json;
    const { secret, uri } = (await start()).json;
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.equal(new URL(uri).searchParams.get('secret'), secret);
    assert.equal(decodeURIComponent(new URL(uri).pathname).endsWith(`Deskbell:${user.email}`), true, uri);

    // Until it is confirmed, the password alone is enough.
    assert.equal((await login(deskbell, user)).status, 200);
    assertError(await confirm(codeOf(deskbell, first.secret)), 403, 'FORBIDDEN', 'otp');
    const typed = codeOf(deskbell, secret).replace(/^(...)/, '$1-');
    assert.equal((await confirm(typed)).json.recovery_codes.length, 10);
    assertError(await confirm(codeOf(deskbell, secret, 1)), 409, 'CONFLICT');
    assertError(await start(), 409, 'CONFLICT');
    assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
  });

  it('only codes within the limit are checked if sixty wrong ones come at once to confirm an app', async () => {
    const user = await addUser(deskbell);
    const { access_token: token } = (await login(deskbell, user)).json;
    await post(token, '/totp', { password: user.password });
    // None is counted before all of them have passed the first look at the limit.
    const { database } = deskbell;
    const { transaction } = database;
    const allCheck = Promise.withResolvers<void>();
    let checking = 0;
    database.transaction = async (work) => {
      checking += 1;
      if (checking === 60) allCheck.resolve();
      await allCheck.promise;
      database.transaction = transaction;
      return database.transaction(work);
    };
    const confirm = async (): Promise<Reply> => {
      const reply = await post(token, '/totp/confirm', { otp: '000000' });
      // A server that has no time refuses a request before it does anything.
      return reply.status === 503 ? sleep(50).then(confirm) : reply;
    };
    const replies = await Promise.all(Array.from({ length: 60 }, confirm));
    const checked = replies.filter(({ status }) => status === 403).length;
    const checkedMax = FAILURES_MAX + deskbell.config.databasePoolSize;
    assert.ok(checked >= FAILURES_MAX && checked <= checkedMax, `${checked} were checked`);
    for (const reply of replies) if (reply.status !== 403) assertError(reply, 429, 'RATE_LIMITED');
  });

  it('turning one on or off ends the other sessions of the user, and nobody else’s', async () => {
    const user = await addUser(deskbell);
    const own = (await login(deskbell, user)).json;
    const other = (await login(deskbell, user)).json;
    const stranger = (await login(deskbell, AURORA)).json;
    const { recoveryCodes } = await turnOnTotp(deskbell, user, own.access_token);
    await isOpen(own);
    await ended(other);

    const another = (await loginWith(deskbell, user, recoveryCodes[0])).json;
    assert.equal((await turnOff(own.access_token, { otp: recoveryCodes[1] })).status, 200);
    await ended(another);
    for (const session of [own, stranger]) await isOpen(session);

    // The password alone is enough again, and the recovery codes are gone.
    assert.equal((await login(deskbell, user)).status, 200);
    assert.deepEqual(await factorsOf(deskbell, own.access_token), NONE);
    const renewed = await post(own.access_token, '/recovery-codes', { password: user.password });
    assertError(renewed, 409, 'CONFLICT');
  });

  it('new recovery codes replace the old ones and end the other sessions', async () => {
    const user = await addUserWithTotp(deskbell);
    const other = (await loginWith(deskbell, user, user.recoveryCodes[1])).json;
    const own = { password: user.password };
    const { recovery_codes } = (await post(user.tokens.access_token, '/recovery-codes', own)).json;
    wrongOtp(await loginWith(deskbell, user, user.recoveryCodes[0]));
    assert.equal((await loginWith(deskbell, user, recovery_codes[0])).status, 200);
    await ended(other);
    await isOpen(user.tokens);
  });

  it('does not change for a session that ends while the password is checked: it is INVALID_TOKEN', async () => {
    const user = await addUserWithTotp(deskbell);
    for (const [method, path] of CHANGES.slice(1, 3)) {
      const { access_token, refresh_token } = (await loginWith(deskbell, user, user.recoveryCodes.pop()))
        .json;
      // The change is the first transaction after the check.
      const { database } = deskbell;
      const { transaction } = database;
      database.transaction = async (work) => {
        database.transaction = transaction;
        await deskbell.call('POST', `${AUTH}/logout`, { body: { refresh_token } });
        return database.transaction(work);
      };
      const body = { password: user.password };
      const reply = await deskbell.call(method, AUTH + path, { token: access_token, body });
      assertError(reply, 401, 'INVALID_TOKEN');
    }
    // Two were used to sign in, and the rest still work.
    const expected = { totp: true, passkeys: [], recovery_codes_left: 8 };
    assert.deepEqual(await factorsOf(deskbell, user.tokens.access_token), expected);
    assert.equal((await loginWith(deskbell, user, user.recoveryCodes[0])).status, 200);
  });

  it('is stored encrypted or hashed, and never logged', once, async () => {
    const user = await addUserWithTotp(deskbell);
    await loginWith(deskbell, user, user.recoveryCodes[0]);
    const rowsOf = (table: string) =>
      deskbell.database.all(`select * from ${table} where user_id = $1`, [user.id]);
    const stored = JSON.stringify([await rowsOf('totp_secrets'), await rowsOf('recovery_codes')]);
    const plain = user.recoveryCodes.map((code) => code.replaceAll('-', ''));
    for (const secret of [user.secret, ...user.recoveryCodes, ...plain]) {
      assert.ok(!stored.includes(secret));
      assert.ok(!deskbell.logged.join('').includes(secret));
    }
  });

  it('reset-factors lets a user sign in with the password alone, and ends the sessions', async () => {
    const user = await addUserWithTotp(deskbell);
    const reset = await run(['user', 'reset-factors', user.email], { env: settingsOf(deskbell) });
    assert.equal(reset.code, 0, reset.stderr);
    await ended(user.tokens);
    const { json } = await login(deskbell, user);
    assert.deepEqual(await factorsOf(deskbell, json.access_token), NONE);
  });
});
