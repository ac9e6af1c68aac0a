import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { useMerchant } from '../support/merchants.ts';
import {
  AURORA,
  addUser,
  assertError,
  type CallOptions,
  type Deskbell,
  login,
  logout,
  me,
  OPERATOR,
  onEachEngine,
  type Reply,
  refresh,
  useDeskbell,
} from '../support/server.ts';

const THIRTY_DAYS_SECONDS = 30 * 86_400;
const refused = (reply: Reply) => assertError(reply, 401, 'INVALID_TOKEN');
const list = (deskbell: Deskbell, token?: string) => deskbell.call('GET', '/api/v1/notification/', { token });

onEachEngine('tokens', (engine) => {
  const deskbell = useDeskbell(engine);

  it('contain user, merchant, role, session, issue time and expiry', async () => {
    const seconds = () => Math.floor(deskbell.clock.now().getTime() / 1000);
    const from = seconds();
    const { json } = await login(deskbell);
    const until = seconds();
    const { jti, iat, exp, sid, ...claims } = decodeJwt(json.access_token);
    const aurora = { iss: 'deskbell', sub: '1', merchant_id: 1, role: 'owner' };
    assert.deepEqual(claims, { ...aurora, aud: 'deskbell:api' });
    assert.match(jti!, /^[\da-f-]{36}$/);
    assert.ok(iat! >= from && iat! <= until, `${iat}, from ${from} to ${until}`);
    assert.deepEqual([exp! - iat!, json.expires_in], [900, 900]);

    const ofSession = decodeJwt(json.refresh_token);
    assert.equal(sid, ofSession.jti, 'the session of the refresh token');
    assert.equal(ofSession.exp! - ofSession.iat!, THIRTY_DAYS_SECONDS);
    assert.deepEqual([ofSession.aud, ofSession.sub], ['deskbell:refresh', '1']);
  });

  it('are renewed with a refresh token, which stays valid like earlier access tokens', async () => {
    const { json: first } = await login(deskbell);
    await refresh(deskbell, first.refresh_token);
    const reply = await refresh(deskbell, first.refresh_token);
    assert.equal(reply.status, 200, reply.text);
    const { access_token, ...rest } = reply.json;
    assert.deepEqual(rest, { token_type: 'bearer', expires_in: 900 });
    const [before, after] = [decodeJwt(first.access_token), decodeJwt(access_token)];
    assert.notEqual(after.jti, before.jti);
    assert.equal(after.exp! - after.iat!, 900);
    assert.deepEqual({ ...after, jti: 0, iat: 0, exp: 0 }, { ...before, jti: 0, iat: 0, exp: 0 });
    for (const token of [access_token, first.access_token])
      assert.equal((await me(deskbell, token)).status, 200);
  });

  it('are TOKEN_EXPIRED after fifteen minutes, and refresh tokens after thirty days', async () => {
    deskbell.clock.stop();
    const { access_token, refresh_token } = (await login(deskbell)).json;
    await deskbell.clock.advance(890);
    assert.equal((await me(deskbell, access_token)).status, 200);
    await deskbell.clock.advance(10);
    for (const ask of [me, list]) assertError(await ask(deskbell, access_token), 401, 'TOKEN_EXPIRED');
    // In three parts, because a session that is not used for two weeks ends earlier.
    for (const seconds of [10 * 86_400, 10 * 86_400, 10 * 86_400 - 910]) {
      await deskbell.clock.advance(seconds);
      assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    }
    await deskbell.clock.advance(10);
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    assertError(await logout(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    deskbell.clock.go();
  });

  it('of one kind are not accepted as the other, nor are forged ones', async () => {
    const { access_token, refresh_token } = (await login(deskbell)).json;
    for (const ask of [me, list]) refused(await ask(deskbell, refresh_token));
    const forged = `${refresh_token.slice(0, -9)}AAAAAAAAA`;
    for (const token of [access_token, forged, 'nonsense', 'a.b.c'])
      for (const ask of [refresh, logout]) refused(await ask(deskbell, token));
  });

  it('of a deleted user are USER_NOT_FOUND, but can answer until they expire', async () => {
    const user = await addUser(deskbell);
    const { access_token, refresh_token } = (await login(deskbell, user)).json;
    await deskbell.database.run('delete from users where id = $1', [user.id]);
    assertError(await me(deskbell, access_token), 404, 'USER_NOT_FOUND');
    for (const ask of [refresh, logout])
      assertError(await ask(deskbell, refresh_token), 404, 'USER_NOT_FOUND');
    assertError(await login(deskbell, user), 401, 'INVALID_CREDENTIALS');
    const answer = { token: access_token, body: { answer: 'Yes.' } };
    const reply = await deskbell.call('POST', '/api/v1/notification/4/answer', answer);
    assert.equal(reply.status, 200, reply.text);
  });

  it('show their users’ own record: five fields, with the time in UTC', async () => {
    for (const [user, expected] of [
      [AURORA, { id: 1, name: 'Alma Reyes', role: 'owner' }],
      [OPERATOR, { id: 3, name: 'Odile Operator', role: 'admin' }],
    ] as const) {
      // As it was stored, however it was typed.
      const reply = await me(deskbell, await deskbell.signIn(user.email.toUpperCase(), user.password));
      assert.equal(reply.status, 200, reply.text);
      const { created_at, ...rest } = reply.json;
      assert.deepEqual(rest, { ...expected, email: user.email });
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    }
  });
});

describe('the settings for tokens', () => {
  const deskbell = useDeskbell('sqlite', {
    ACCESS_TOKEN_TTL_SECONDS: '60',
    REFRESH_TOKEN_TTL_SECONDS: '3600',
    TOKEN_ISSUER: 'https://bell.example',
  });

  it('are both lifetimes and the issuer, and expires_in follows them', async () => {
    const { access_token, refresh_token, expires_in } = (await login(deskbell)).json;
    assert.equal(expires_in, 60);
    assert.equal((await refresh(deskbell, refresh_token)).json.expires_in, 60);
    assert.equal(decodeJwt(access_token).iss, 'https://bell.example');
    await deskbell.clock.advance(60);
    assertError(await me(deskbell, access_token), 401, 'TOKEN_EXPIRED');
    await deskbell.clock.advance(3540);
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
  });
});

describe('a token', () => {
  const shop = useMerchant('sqlite');

  it('is only accepted in the Authorization header, with the scheme Bearer in any case', async () => {
    const token = await shop.token();
    const ask = (options: CallOptions, query = '') =>
      shop.deskbell.call('GET', `/api/v1/auth/me${query}`, options);
    for (const authorization of [
      ...['', 'Bearer', token, `Basic ${token}`, `Bearers ${token}`],
      ...[`Bearer ${token} ${token}`, `Bearer ${token}, Bearer ${token}`],
    ])
      refused(await ask({ headers: { authorization } }));
    refused(await ask({}));
    refused(await ask({ headers: { cookie: `access_token=${token}` } }));
    for (const scheme of ['bearer', 'BEARER'])
      assert.equal((await ask({ headers: { authorization: `${scheme} ${token}` } })).status, 200);
    // URLs end up in logs.
    refused(await ask({}, `?access_token=${token}`));
    assert.ok(!shop.deskbell.logged.join('').includes(token));
  });
});
