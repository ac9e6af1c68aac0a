import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run, settingsOf } from '../../support/command.ts';
import { AUTH, addUserWithTotp, codeOf, factorsOf, loginWith, turnOnTotp } from '../../support/factors.ts';
import {
  AURORA,
  addUser,
  assertError,
  login,
  onEachEngine,
  refresh,
  useDeskbell,
} from '../../support/server.ts';

const FAILURES_MAX = 10;

onEachEngine('the second factors of a user', (engine) => {
  const deskbell = useDeskbell(engine);
  const changes = (passkeyId = 1): [method: string, path: string][] => [
    ['POST', '/totp'],
    ['DELETE', '/totp'],
    ['POST', '/recovery-codes'],
    ['DELETE', `/passkeys/${passkeyId}`],
  ];

  it('need an access token, judged before the body', async () => {
    for (const [method, path] of [
      ...changes(),
      ['POST', '/totp/confirm'],
      ['POST', '/passkeys/options'],
      ['POST', '/passkeys'],
    ] as const)
      assertError(await deskbell.call(method, AUTH + path, { body: '{' }), 401, 'INVALID_TOKEN');
    assertError(await deskbell.call('GET', `${AUTH}/factors`), 401, 'INVALID_TOKEN');
  });

  it('change only with the password or a code, and wrong ones count as failed sign-ins', async () => {
    const user = await addUserWithTotp(deskbell);
    const token = user.tokens.access_token;
    for (const [method, path] of changes()) {
      const without = await deskbell.call(method, AUTH + path, { token, body: {} });
      assertError(without, 422, 'VALIDATION_ERROR', 'password');
      const wrong = await deskbell.call(method, AUTH + path, { token, body: { password: 'wrong' } });
      assertError(wrong, 403, 'FORBIDDEN', 'password');
      const used = codeOf(deskbell, user.secret, -3);
      const wrongCode = await deskbell.call(method, AUTH + path, { token, body: { otp: used } });
      assertError(wrongCode, 403, 'FORBIDDEN', 'otp');
    }
    for (let count = 2 * changes().length; count < FAILURES_MAX; count += 1)
      await deskbell.call('DELETE', `${AUTH}/totp`, { token, body: { password: 'wrong' } });
    const locked = await deskbell.call('DELETE', `${AUTH}/totp`, {
      token,
      body: { password: user.password },
    });
    assertError(locked, 429, 'RATE_LIMITED');
    assertError(await loginWith(deskbell, user, user.recoveryCodes[0]), 429, 'RATE_LIMITED');
    assert.equal((await factorsOf(deskbell, token)).totp, true);
  });

  it('an app is set up with a secret, a QR address and a first code', async () => {
    const user = await addUser(deskbell);
    const { access_token: token } = (await login(deskbell, user)).json;
    const start = () => deskbell.call('POST', `${AUTH}/totp`, { token, body: { password: user.password } });
    const confirm = (otp: string) => deskbell.call('POST', `${AUTH}/totp/confirm`, { token, body: { otp } });
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
    await deskbell.call('POST', `${AUTH}/totp`, { token, body: { password: user.password } });
    const body = { otp: '000000' };
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
        const reply = await deskbell.call('POST', `${AUTH}/totp/confirm`, { token, body });
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

  it('an app that is not confirmed within 15 minutes must be set up again', async () => {
    const user = await addUser(deskbell);
    const { access_token: token } = (await login(deskbell, user)).json;
    const body = { password: user.password };
    const { secret } = (await deskbell.call('POST', `${AUTH}/totp`, { token, body })).json;
    await deskbell.clock.advance(15 * 60 + 1);
    const fresh = (await login(deskbell, user)).json.access_token;
    const otp = codeOf(deskbell, secret);
    const reply = await deskbell.call('POST', `${AUTH}/totp/confirm`, { token: fresh, body: { otp } });
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
    const body = { otp: recoveryCodes[1] };
    const off = await deskbell.call('DELETE', `${AUTH}/totp`, { token: own.access_token, body });
    assert.equal(off.status, 200, off.text);
    assert.equal((await refresh(deskbell, own.refresh_token)).status, 200);
    assertError(await refresh(deskbell, another.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, stranger.refresh_token)).status, 200);

    // The password alone is enough again, and the recovery codes are gone.
    assert.equal((await login(deskbell, user)).status, 200);
    assert.deepEqual(await factorsOf(deskbell, own.access_token), {
      totp: false,
      passkeys: [],
      recovery_codes_left: 0,
    });
    const renewed = await deskbell.call('POST', `${AUTH}/recovery-codes`, {
      token: own.access_token,
      body: { password: user.password },
    });
    assertError(renewed, 409, 'CONFLICT');
  });

  it('new recovery codes replace the old ones and end the other sessions', async () => {
    const user = await addUserWithTotp(deskbell);
    const other = (await loginWith(deskbell, user, user.recoveryCodes[1])).json;
    const { json } = await deskbell.call('POST', `${AUTH}/recovery-codes`, {
      token: user.tokens.access_token,
      body: { password: user.password },
    });
    assert.equal(json.recovery_codes.length, 10);
    assertError(await loginWith(deskbell, user, user.recoveryCodes[0]), 401, 'INVALID_CREDENTIALS', 'otp');
    assert.equal((await loginWith(deskbell, user, json.recovery_codes[0])).status, 200);
    assertError(await refresh(deskbell, other.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, user.tokens.refresh_token)).status, 200);
  });

  it('do not change for a session that ends while the password is checked: it is INVALID_TOKEN', async () => {
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

  it('belong to the user alone: nobody else sees or changes them', async () => {
    const user = await addUserWithTotp(deskbell);
    const stranger = await addUser(deskbell);
    const token = (await login(deskbell, stranger)).json.access_token;
    assert.deepEqual(await factorsOf(deskbell, token), { totp: false, passkeys: [], recovery_codes_left: 0 });
    // Not even with the other user's code.
    const body = { otp: user.recoveryCodes[0] };
    assertError(await deskbell.call('DELETE', `${AUTH}/totp`, { token, body }), 403, 'FORBIDDEN', 'otp');
    const own = { password: stranger.password };
    assertError(await deskbell.call('DELETE', `${AUTH}/totp`, { token, body: own }), 404, 'NOT_FOUND');
    assert.equal((await factorsOf(deskbell, user.tokens.access_token)).recovery_codes_left, 10);
  });

  it('are stored encrypted or hashed, and never logged', async () => {
    const user = await addUserWithTotp(deskbell);
    const otp = user.recoveryCodes[0]!;
    await loginWith(deskbell, user, otp);
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
    assert.deepEqual(await factorsOf(deskbell, json.access_token), {
      totp: false,
      passkeys: [],
      recovery_codes_left: 0,
    });
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
    assertError(await loginWith(deskbell, user, code), 401, 'INVALID_CREDENTIALS', 'otp');
    assert.equal((await loginWith(deskbell, user, user.recoveryCodes[0])).status, 200);
  });
});
