import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeJwt } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { EXPIRING_ATTEMPTS } from '../../src/auth/attempts.ts';
import { expiringSessions } from '../../src/auth/sessions/store.ts';
import { disableUser, enableUser, setPassword } from '../../src/auth/users.ts';
import { removeExpired } from '../../src/database/expiry.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  login,
  logout,
  me,
  OPERATOR,
  onEachEngine,
  refresh,
  useDeskbell,
} from '../support/server.ts';

const THIRTY_DAYS_SECONDS = 30 * 86_400;
const list = (deskbell: Deskbell, token?: string) => deskbell.call('GET', '/api/v1/notification/', { token });

onEachEngine('the lifetime of a token', (engine) => {
  const deskbell = useDeskbell(engine);

  it('the access token contains user, merchant, role, issue time and expiry', async () => {
    const seconds = () => Math.floor(deskbell.clock.now().getTime() / 1000);
    const from = seconds();
    const { json } = await login(deskbell);
    const until = seconds();
    const { jti, iat, exp, sid, ...claims } = decodeJwt(json.access_token);
    assert.equal(sid, decodeJwt(json.refresh_token).jti, 'the session of the refresh token');
    assert.deepEqual(claims, {
      iss: 'deskbell',
      aud: 'deskbell:api',
      sub: '1',
      merchant_id: 1,
      role: 'owner',
    });
    assert.match(jti!, /^[\da-f-]{36}$/);
    // The session is the id of the refresh token.
    assert.equal(sid, decodeJwt(json.refresh_token).jti);
    assert.ok(iat! >= from && iat! <= until, `${iat}, from ${from} to ${until}`);
    assert.equal(exp! - iat!, 900);
    assert.equal(json.expires_in, exp! - iat!);
  });

  it('the refresh token is valid for thirty days and only for refreshing', async () => {
    const claims = decodeJwt((await login(deskbell)).json.refresh_token);
    assert.equal(claims.exp! - claims.iat!, THIRTY_DAYS_SECONDS);
    assert.equal(claims.aud, 'deskbell:refresh');
    assert.equal(claims.sub, '1');
  });

  it('a refresh token gives a new access token, its type and its lifetime, and no refresh token', async () => {
    const { json: first } = await login(deskbell);
    const reply = await refresh(deskbell, first.refresh_token);
    assert.equal(reply.status, 200, reply.text);
    const { access_token, ...rest } = reply.json;
    assert.deepEqual(rest, { token_type: 'bearer', expires_in: 900 });
    const [before, after] = [decodeJwt(first.access_token), decodeJwt(access_token)];
    assert.notEqual(after.jti, before.jti);
    assert.equal(after.exp! - after.iat!, rest.expires_in);
    assert.deepEqual({ ...after, jti: 0, iat: 0, exp: 0 }, { ...before, jti: 0, iat: 0, exp: 0 });
    assert.equal((await me(deskbell, access_token)).status, 200);
  });

  it('a refresh token may be used again, and refreshing does not end earlier access tokens', async () => {
    const { json } = await login(deskbell);
    assert.equal((await refresh(deskbell, json.refresh_token)).status, 200);
    assert.equal((await refresh(deskbell, json.refresh_token)).status, 200);
    assert.equal((await me(deskbell, json.access_token)).status, 200);
  });

  it('a refreshed token has the user’s current role and merchant', async () => {
    const user = await addUser(deskbell);
    const { json } = await login(deskbell, user);
    await deskbell.database.run(`update users set role = 'admin', merchant_id = null where id = $1`, [
      user.id,
    ]);
    const claims = decodeJwt((await refresh(deskbell, json.refresh_token)).json.access_token);
    assert.equal(claims.role, 'admin');
    assert.ok(!('merchant_id' in claims));
  });

  it('an access token works for its fifteen minutes and is TOKEN_EXPIRED after that', async () => {
    deskbell.clock.stop();
    const { access_token } = (await login(deskbell)).json;
    await deskbell.clock.advance(890);
    assert.equal((await me(deskbell, access_token)).status, 200);
    await deskbell.clock.advance(10);
    assertError(await me(deskbell, access_token), 401, 'TOKEN_EXPIRED');
    assertError(await list(deskbell, access_token), 401, 'TOKEN_EXPIRED');
    const { refresh_token } = (await login(deskbell)).json;
    assertError(await refresh(deskbell, access_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    deskbell.clock.go();
  });

  it('a refresh token works for thirty days and is TOKEN_EXPIRED after that', async () => {
    deskbell.clock.stop();
    const { refresh_token } = (await login(deskbell)).json;
    // In three parts, because a session that is not used for two weeks ends earlier.
    for (const seconds of [10 * 86_400, 10 * 86_400, 10 * 86_400 - 10]) {
      await deskbell.clock.advance(seconds);
      assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    }
    await deskbell.clock.advance(10);
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    assertError(await logout(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    for (const expiring of [...EXPIRING_ATTEMPTS, ...expiringSessions(1)]) {
      await removeExpired(deskbell.database, expiring, deskbell.clock.now());
    }
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    deskbell.clock.go();
  });

  it('neither kind of token is accepted as the other', async () => {
    const { access_token, refresh_token } = (await login(deskbell)).json;
    assertError(await me(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assertError(await list(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, access_token), 401, 'INVALID_TOKEN');
    assertError(await logout(deskbell, access_token), 401, 'INVALID_TOKEN');
  });

  it('signing out ends that session and no other', async () => {
    const [one, other] = [(await login(deskbell)).json, (await login(deskbell)).json];
    const reply = await logout(deskbell, one.refresh_token);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(Object.keys(reply.json), ['message']);
    assertError(await refresh(deskbell, one.refresh_token), 401, 'INVALID_TOKEN');
    assertError(await logout(deskbell, one.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, other.refresh_token)).status, 200);
  });

  it('a new password ends all sessions of its user, and nobody else’s', async () => {
    const user = await addUser(deskbell);
    const sessions = [(await login(deskbell, user)).json, (await login(deskbell, user)).json];
    const stranger = (await login(deskbell)).json;
    const borealis = await deskbell.database.one<{ password_hash: string }>(
      'select password_hash from users where id = 2',
    );
    await setPassword(deskbell.database, user.id, borealis!.password_hash, deskbell.clock.now(), SERVER);
    for (const { refresh_token } of sessions) {
      assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    }
    assert.equal((await refresh(deskbell, stranger.refresh_token)).status, 200);
    assertError(await login(deskbell, user), 401, 'INVALID_CREDENTIALS');
    assert.equal((await login(deskbell, { ...BOREALIS, email: user.email })).status, 200);
  });

  it('a disabled user’s tokens are INVALID_TOKEN, and the sessions stay ended', async () => {
    const user = await addUser(deskbell);
    const { access_token, refresh_token } = (await login(deskbell, user)).json;
    await disableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    assertError(await me(deskbell, access_token), 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    await enableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await login(deskbell, user)).status, 200);
  });

  it('valid tokens of a deleted user are USER_NOT_FOUND', async () => {
    const user = await addUser(deskbell);
    const { access_token, refresh_token } = (await login(deskbell, user)).json;
    await deskbell.database.run('delete from users where id = $1', [user.id]);
    assertError(await me(deskbell, access_token), 404, 'USER_NOT_FOUND');
    assertError(await refresh(deskbell, refresh_token), 404, 'USER_NOT_FOUND');
    assertError(await logout(deskbell, refresh_token), 404, 'USER_NOT_FOUND');
    assertError(await login(deskbell, user), 401, 'INVALID_CREDENTIALS');
  });

  it('an answer with the token of a deleted user is stored without a user', async () => {
    const user = await addUser(deskbell);
    const token = await deskbell.signIn(user.email, user.password);
    await deskbell.database.run('delete from users where id = $1', [user.id]);
    const body = { answer: 'Yes.' };
    const reply = await deskbell.call('POST', '/api/v1/notification/4/answer', { token, body });
    assert.equal(reply.status, 200, reply.text);
  });
});

onEachEngine('the current user', (engine) => {
  const deskbell = useDeskbell(engine);

  const users = [
    ['a merchant’s owner', AURORA, { id: 1, name: 'Alma Reyes', role: 'owner' }],
    ['another merchant’s owner', BOREALIS, { id: 2, name: 'Björn Olafsson', role: 'owner' }],
    ['an operator', OPERATOR, { id: 3, name: 'Odile Operator', role: 'admin' }],
  ] as const;
  for (const [title, user, expected] of users) {
    it(`${title} reads their own record: five fields, with the time in UTC`, async () => {
      const reply = await me(deskbell, await deskbell.signIn(user.email, user.password));
      assert.equal(reply.status, 200, reply.text);
      const { created_at, ...rest } = reply.json;
      assert.deepEqual(rest, { ...expected, email: user.email });
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    });
  }

  it('the email address is shown as it was stored, however it was typed at sign-in', async () => {
    const token = await deskbell.signIn(AURORA.email.toUpperCase(), AURORA.password);
    assert.equal((await me(deskbell, token)).json.email, AURORA.email);
  });

  it('an operator’s token has no merchant, and the notification endpoints refuse it with 401', async () => {
    const token = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assert.ok(!('merchant_id' in decodeJwt(token)));
    const answer = { answer: 'A.' };
    const calls: [string, string, unknown?][] = [
      ['GET', '/api/v1/notification/'],
      ['GET', '/api/v1/notification/4'],
      ['POST', '/api/v1/notification/4/answer', answer],
      ['DELETE', '/api/v1/notification/4'],
      ['POST', '/api/v1/notification/request', {}],
    ];
    for (const [method, path, body] of calls) {
      assertError(await deskbell.call(method, path, { token, body }), 401, 'INVALID_TOKEN');
    }
  });

  const headers: [title: string, (token: string) => Record<string, string>, status: number][] = [
    ['no header', () => ({}), 401],
    ['an empty header', () => ({ authorization: '' }), 401],
    ['the scheme alone', () => ({ authorization: 'Bearer' }), 401],
    ['the token alone', (token) => ({ authorization: token }), 401],
    ['another scheme', (token) => ({ authorization: `Basic ${token}` }), 401],
    ['a scheme that starts with Bearer', (token) => ({ authorization: `Bearers ${token}` }), 401],
    ['two tokens', (token) => ({ authorization: `Bearer ${token} ${token}` }), 401],
    ['a list of tokens', (token) => ({ authorization: `Bearer ${token}, Bearer ${token}` }), 401],
    ['a cookie', (token) => ({ cookie: `access_token=${token}` }), 401],
    ['the scheme in lower case', (token) => ({ authorization: `bearer ${token}` }), 200],
    ['the scheme in upper case', (token) => ({ authorization: `BEARER ${token}` }), 200],
  ];
  for (const [title, make, status] of headers) {
    it(`a token sent with ${title} is ${status === 200 ? 'accepted' : 'refused'}`, async () => {
      const reply = await deskbell.call('GET', '/api/v1/auth/me', { headers: make(await deskbell.signIn()) });
      if (status === 200) assert.equal(reply.status, 200, reply.text);
      else assertError(reply, 401, 'INVALID_TOKEN');
    });
  }

  it('a token in the URL is not accepted, because URLs end up in logs', async () => {
    const token = await deskbell.signIn();
    const reply = await deskbell.call('GET', `/api/v1/auth/me?access_token=${token}`);
    assertError(reply, 401, 'INVALID_TOKEN');
    assert.ok(!deskbell.logged.join('').includes(token));
  });
});

onEachEngine('the settings for lifetimes and issuer', (engine) => {
  const deskbell = useDeskbell(engine, {
    ACCESS_TOKEN_TTL_SECONDS: '60',
    REFRESH_TOKEN_TTL_SECONDS: '3600',
    TOKEN_ISSUER: 'https://bell.example',
  });

  it('both lifetimes and the issuer can be set, and expires_in follows them', async () => {
    const { access_token, refresh_token, expires_in } = (await login(deskbell)).json;
    assert.equal(expires_in, 60);
    assert.equal((await refresh(deskbell, refresh_token)).json.expires_in, 60);
    assert.equal(decodeJwt(access_token).iss, 'https://bell.example');
    await deskbell.clock.advance(60);
    assertError(await me(deskbell, access_token), 401, 'TOKEN_EXPIRED');
    assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    await deskbell.clock.advance(3540);
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
  });
});
