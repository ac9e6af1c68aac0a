import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import {
  AUTH,
  addUserWithTotp,
  codeOf,
  DASHBOARD,
  factorsOf,
  loginWith,
  turnOnTotp,
} from '../../support/factors.ts';
import { startRecording, stopRecording } from '../../support/plans/statements.ts';
import {
  addUser,
  assertError,
  login,
  me,
  OPERATOR,
  onEachEngine,
  outcome,
  refresh,
  useDeskbell,
} from '../../support/server.ts';

const FAILURES_MAX = 10;

onEachEngine('a sign-in with an authenticator app', (engine) => {
  const deskbell = useDeskbell(engine);
  // Otherwise the next 30 seconds may begin between two lines of a test, and a used code would be a new one.
  before(() => deskbell.clock.stop());
  /** Codes are used up, so every sign-in of a test takes the next one. */
  const nextCode = async (secret: string) => {
    await deskbell.clock.advance(30);
    return codeOf(deskbell, secret);
  };

  it('needs the password and a code: without a code it is MFA_REQUIRED', async () => {
    const user = await addUserWithTotp(deskbell);
    const missing = await login(deskbell, user);
    assertError(missing, 401, 'MFA_REQUIRED', 'otp');
    assertError(await loginWith(deskbell, user, ''), 401, 'MFA_REQUIRED', 'otp');
    const reply = await loginWith(deskbell, user, await nextCode(user.secret));
    assert.equal(reply.status, 200, reply.text);
    assert.equal((await me(deskbell, reply.json.access_token)).json.id, user.id);
  });

  it('the dashboard asks for the code too', async () => {
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

  it('a wrong password gets the same response as without a second factor', async () => {
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

  it('each code works once', async () => {
    const user = await addUserWithTotp(deskbell);
    // The one that confirmed the app is used up.
    assertError(
      await loginWith(deskbell, user, codeOf(deskbell, user.secret)),
      401,
      'INVALID_CREDENTIALS',
      'otp',
    );
    const code = await nextCode(user.secret);
    assert.equal((await loginWith(deskbell, user, code)).status, 200);
    assertError(await loginWith(deskbell, user, code), 401, 'INVALID_CREDENTIALS', 'otp');
  });

  it('of many requests at once with one code, one gets a session', async () => {
    const user = await addUserWithTotp(deskbell);
    const code = await nextCode(user.secret);
    const replies = await Promise.all(Array.from({ length: 6 }, () => loginWith(deskbell, user, code)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    for (const reply of replies.filter(({ status }) => status !== 200))
      assertError(reply, 401, 'INVALID_CREDENTIALS', 'otp');
  });

  it('the clock of the app may differ by 30 seconds, but no more', async () => {
    const early = await addUserWithTotp(deskbell);
    const late = await addUserWithTotp(deskbell);
    await deskbell.clock.advance(90);
    for (const [user, tooFar, near] of [
      [early, 2, 1],
      [late, -2, -1],
    ] as const) {
      const reply = await loginWith(deskbell, user, codeOf(deskbell, user.secret, tooFar));
      assertError(reply, 401, 'INVALID_CREDENTIALS', 'otp');
      assert.equal((await loginWith(deskbell, user, codeOf(deskbell, user.secret, near))).status, 200);
    }
    // A code that is older than the last one does not work any more.
    assertError(
      await loginWith(deskbell, early, codeOf(deskbell, early.secret)),
      401,
      'INVALID_CREDENTIALS',
      'otp',
    );
  });

  it('wrong codes count as failed sign-ins, missing ones do not', async () => {
    const user = await addUserWithTotp(deskbell);
    for (let count = 0; count <= FAILURES_MAX; count += 1)
      assertError(await login(deskbell, user), 401, 'MFA_REQUIRED', 'otp');
    const guesses = ['000000', '0', 'abcdef', 'x'.repeat(64), '0000-0000-0000-0000'];
    for (let count = 0; count < FAILURES_MAX; count += 1) {
      const reply = await loginWith(deskbell, user, guesses[count % guesses.length]);
      assertError(reply, 401, 'INVALID_CREDENTIALS', 'otp');
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
    assertError(await loginWith(deskbell, user, first), 401, 'INVALID_CREDENTIALS', 'otp');
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

  it('codes of one user are worth nothing for another', async () => {
    const user = await addUserWithTotp(deskbell);
    const other = await addUserWithTotp(deskbell);
    for (const otp of [await nextCode(other.secret), other.recoveryCodes[0]])
      assertError(await loginWith(deskbell, user, otp), 401, 'INVALID_CREDENTIALS', 'otp');
    assert.equal((await loginWith(deskbell, other, other.recoveryCodes[0])).status, 200);
  });

  it('works for an operator', async () => {
    const { json } = await login(deskbell, OPERATOR);
    const user = { id: 0, ...OPERATOR };
    const { secret } = await turnOnTotp(deskbell, user, json.access_token);
    assertError(await login(deskbell, OPERATOR), 401, 'MFA_REQUIRED', 'otp');
    assert.equal((await loginWith(deskbell, user, await nextCode(secret))).status, 200);
  });

  it('without a second factor nothing changes: the same statements, and otp is ignored', async () => {
    const user = await addUser(deskbell);
    startRecording();
    const reply = await login(deskbell, user);
    const statements = stopRecording();
    assert.deepEqual(Object.keys(reply.json), ['access_token', 'refresh_token', 'token_type', 'expires_in']);
    const ofFactors = statements.filter(({ sql }) => /totp|passkeys|recovery/.test(sql));
    assert.deepEqual(ofFactors, []);
    assert.equal((await loginWith(deskbell, user, 'anything')).status, 200);
    const wrong = await login(deskbell, { ...user, password: 'wrong' });
    assert.equal(wrong.text, '{"detail":"Wrong email or password.","code":"INVALID_CREDENTIALS"}');
  });

  it('a sign-in that began before the second factor was turned on opens no session', async () => {
    const user = await addUser(deskbell);
    const { json } = await login(deskbell, user);
    const { secret } = (
      await deskbell.call('POST', `${AUTH}/totp`, {
        token: json.access_token,
        body: { password: user.password },
      })
    ).json;
    const confirming = deskbell.call('POST', `${AUTH}/totp/confirm`, {
      token: json.access_token,
      body: { otp: codeOf(deskbell, secret) },
    });
    const signIns = Array.from({ length: 6 }, () => login(deskbell, user));
    assert.equal((await confirming).status, 200);
    for (const reply of await Promise.all(signIns)) {
      if (reply.status !== 200) continue;
      assertError(await refresh(deskbell, reply.json.refresh_token), 401, 'INVALID_TOKEN');
    }
  });
});
