import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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
  OPERATOR,
  onEachEngine,
  outcome,
  type Reply,
  refresh,
  useDeskbell,
} from '../../support/server.ts';

const FAILURES_MAX = 10;
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
      deskbell.call('POST', '/session/login', {
        headers: DASHBOARD,
        body: { email: user.email, password: user.password, otp },
      });
    const missing = await signIn();
    assertError(missing, 401, 'MFA_REQUIRED', 'otp');
    assert.equal(missing.headers.get('set-cookie'), null);
    assertError(await signIn('000000'), 401, 'INVALID_CREDENTIALS', 'otp');
    const reply = await signIn(await nextCode(user.secret));
    assert.equal(reply.status, 200, reply.text);
    assert.match(reply.headers.get('set-cookie')!, /deskbell_refresh=/);
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
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    for (const reply of replies.filter(({ status }) => status !== 200)) wrongOtp(reply);
  });

  it('the clock of the app may differ by 30 seconds, but no more', once, async () => {
    const early = await addUserWithTotp(deskbell);
    const late = await addUserWithTotp(deskbell);
    await deskbell.clock.advance(90);
    for (const [user, tooFar, near] of [
      [early, 2, 1],
      [late, -2, -1],
    ] as const) {
      wrongOtp(await loginWith(deskbell, user, codeOf(deskbell, user.secret, tooFar)));
      assert.equal((await loginWith(deskbell, user, codeOf(deskbell, user.secret, near))).status, 200);
    }
    // A code that is older than the last one does not work any more.
    wrongOtp(await loginWith(deskbell, early, codeOf(deskbell, early.secret)));
  });

  it('wrong codes count as failed sign-ins, missing ones do not', once, async () => {
    const user = await addUserWithTotp(deskbell);
    for (let count = 0; count <= FAILURES_MAX; count += 1)
      assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
    const guesses = ['000000', '0', 'abcdef', 'x'.repeat(64), '0000-0000-0000-0000'];
    for (let count = 0; count < FAILURES_MAX; count += 1) {
      wrongOtp(await loginWith(deskbell, user, guesses[count % guesses.length]));
    }
    // Above the limit every response is the same, so that nothing shows which password or code is right.
    const code = await nextCode(user.secret);
    for (const otp of [undefined, '000000', code, user.recoveryCodes[0]])
      assertError(await loginWith(deskbell, user, otp), 429, 'RATE_LIMITED');
  });

  it('a recovery code works once instead of a code, in any spelling', async () => {
    const user = await addUserWithTotp(deskbell);
    assert.equal(user.recoveryCodes.length, 10);
    assert.equal(new Set(user.recoveryCodes).size, 10);
    const [first, second] = user.recoveryCodes as [string, string];
    assert.match(first, /^(?:[\da-hjkmnp-tv-z]{4}-){5}[\da-hjkmnp-tv-z]{4}$/);
    assert.equal((await loginWith(deskbell, user, first)).status, 200);
    wrongOtp(await loginWith(deskbell, user, first));
    const spelled = ` ${second.toUpperCase().replaceAll('-', ' ')} `;
    const replies = await Promise.all([1, 2, 3].map(() => loginWith(deskbell, user, spelled)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    const factors = await factorsOf(deskbell, user.tokens.access_token);
    assert.deepEqual(factors, { totp: true, passkeys: [], recovery_codes_left: 8 });
  });

  it('is refused to a disabled user, who learns nothing', async () => {
    const user = await addUserWithTotp(deskbell);
    await deskbell.database.run('update users set disabled_at = created_at where id = $1', [user.id]);
    for (const otp of [undefined, await nextCode(user.secret), user.recoveryCodes[0]])
      assertError(await loginWith(deskbell, user, otp), 401, 'INVALID_CREDENTIALS');
    const reply = await deskbell.call('GET', `${AUTH}/factors`, { token: user.tokens.access_token });
    assertError(reply, 401, 'INVALID_TOKEN');
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

  it('works for an operator', async () => {
    const { json } = await login(deskbell, OPERATOR);
    const user = { id: 0, ...OPERATOR };
    const { secret } = await turnOnTotp(deskbell, user, json.access_token);
    assertError(await login(deskbell, OPERATOR), 401, 'MFA_REQUIRED', 'otp');
    assert.equal((await loginWith(deskbell, user, await nextCode(secret))).status, 200);
  });

  it('without a second factor nothing changes, and otp is ignored', async () => {
    const user = await addUser(deskbell);
    const reply = await login(deskbell, user);
    assert.deepEqual(Object.keys(reply.json), ['access_token', 'refresh_token', 'token_type', 'expires_in']);
    assert.equal((await loginWith(deskbell, user, 'anything')).status, 200);
    const wrong = await login(deskbell, { ...user, password: 'wrong' });
    assert.equal(wrong.text, '{"detail":"Wrong email or password.","code":"INVALID_CREDENTIALS"}');
  });

  it('a sign-in that began before the second factor was turned on opens no session', async () => {
    const user = await addUser(deskbell);
    const { json } = await login(deskbell, user);
    const token = json.access_token;
    const { secret } = (await post(token, '/totp', { password: user.password })).json;
    const confirming = post(token, '/totp/confirm', { otp: codeOf(deskbell, secret) });
    const signIns = Array.from({ length: 6 }, () => login(deskbell, user));
    assert.equal((await confirming).status, 200);
    for (const reply of await Promise.all(signIns)) {
      if (reply.status !== 200) continue;
      assertError(await refresh(deskbell, reply.json.refresh_token), 401, 'INVALID_TOKEN');
    }
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
    /** A server that has no time refuses a request before it does anything. */
    const confirm = async () => {
      for (;;) {
        const reply = await post(token, '/totp/confirm', { otp: '000000' });
        if (reply.status !== 503) return reply;
        await sleep(50);
      }
    };
    const replies = await Promise.all(Array.from({ length: 60 }, confirm));
    const checked = replies.filter(({ status }) => status === 403).length;
    const checkedMax = FAILURES_MAX + deskbell.config.databasePoolSize;
    assert.ok(checked >= FAILURES_MAX && checked <= checkedMax, `${checked} were checked`);
    for (const reply of replies.filter(({ status }) => status !== 403))
      assertError(reply, 429, 'RATE_LIMITED');
  });

  it('an app that is not confirmed within 15 minutes must be set up again', once, async () => {
    const user = await addUser(deskbell);
    const { access_token: token } = (await login(deskbell, user)).json;
    const { secret } = (await post(token, '/totp', { password: user.password })).json;
    await deskbell.clock.advance(15 * 60 + 1);
    const fresh = (await login(deskbell, user)).json.access_token;
    const reply = await post(fresh, '/totp/confirm', { otp: codeOf(deskbell, secret) });
    assertError(reply, 404, 'NOT_FOUND');
  });

  it('turning one on or off ends the other sessions of the user, and nobody else’s', async () => {
    const user = await addUser(deskbell);
    const own = (await login(deskbell, user)).json;
    const other = (await login(deskbell, user)).json;
    const stranger = (await login(deskbell, AURORA)).json;
    const { recoveryCodes } = await turnOnTotp(deskbell, user, own.access_token);
    assert.equal((await refresh(deskbell, own.refresh_token)).status, 200);
    assertError(await refresh(deskbell, other.refresh_token), 401, 'INVALID_TOKEN');

    const another = (await loginWith(deskbell, user, recoveryCodes[0])).json;
    assert.equal((await turnOff(own.access_token, { otp: recoveryCodes[1] })).status, 200);
    assert.equal((await refresh(deskbell, own.refresh_token)).status, 200);
    assertError(await refresh(deskbell, another.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, stranger.refresh_token)).status, 200);

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
    const { json } = await post(user.tokens.access_token, '/recovery-codes', own);
    assert.equal(json.recovery_codes.length, 10);
    wrongOtp(await loginWith(deskbell, user, user.recoveryCodes[0]));
    assert.equal((await loginWith(deskbell, user, json.recovery_codes[0])).status, 200);
    assertError(await refresh(deskbell, other.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, user.tokens.refresh_token)).status, 200);
  });

  it('does not change for a session that ends while the password is checked: it is INVALID_TOKEN', async () => {
    const user = await addUserWithTotp(deskbell);
    for (const [method, path] of [
      ['POST', '/recovery-codes'],
      ['DELETE', '/totp'],
    ] as const) {
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
    const rows = await Promise.all(
      ['totp_secrets', 'recovery_codes'].map((table) =>
        deskbell.database.all(`select * from ${table} where user_id = $1`, [user.id]),
      ),
    );
    const stored = JSON.stringify(rows);
    for (const secret of [
      user.secret,
      ...user.recoveryCodes,
      ...user.recoveryCodes.map((code) => code.replaceAll('-', '')),
    ]) {
      assert.ok(!stored.includes(secret));
      assert.ok(!deskbell.logged.join('').includes(secret));
    }
  });

  it('reset-factors lets a user sign in with the password alone, and ends the sessions', async () => {
    const user = await addUserWithTotp(deskbell);
    const listed = await run(['user', 'list'], { env: settingsOf(deskbell) });
    assert.match(listed.stdout, new RegExp(`${user.email}.* on +enabled`));
    const reset = await run(['user', 'reset-factors', user.email], { env: settingsOf(deskbell) });
    assert.equal(reset.code, 0, reset.stderr);
    assert.match(reset.stdout, /no second factor any more and is signed out everywhere/);
    assertError(await refresh(deskbell, user.tokens.refresh_token), 401, 'INVALID_TOKEN');
    const { json } = await login(deskbell, user);
    assert.deepEqual(await factorsOf(deskbell, json.access_token), NONE);
  });

  it('after a lost SECRET_KEY no code of the app works, but recovery codes do', async () => {
    const user = await addUserWithTotp(deskbell);
    const other = await addUserWithTotp(deskbell);
    // A secret that was sealed for somebody else cannot be opened either.
    await deskbell.database.run(
      `update totp_secrets set sealed_secret = (select sealed_secret from totp_secrets where user_id = $2)
        where user_id = $1`,
      [user.id, other.id],
    );
    await deskbell.clock.advance(30);
    const code = codeOf(deskbell, other.secret);
    wrongOtp(await loginWith(deskbell, user, code));
    assert.equal((await loginWith(deskbell, user, user.recoveryCodes[0])).status, 200);
  });
});
