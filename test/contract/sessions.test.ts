import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { disableUser, enableUser } from '../../src/auth/users.ts';
import {
  addUser,
  assertError,
  type Deskbell,
  login,
  me,
  OPERATOR,
  onEachEngine,
  refresh,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

const DAY_SECONDS = 86_400;
const SESSIONS = '/api/v1/auth/sessions';

const rotate = (deskbell: Deskbell, refresh_token: string) =>
  deskbell.call('POST', '/api/v1/auth/refresh?rotate=true', { body: { refresh_token } });
const list = (deskbell: Deskbell, token?: string) => deskbell.call('GET', SESSIONS, { token });
const sessionOf = (refreshToken: string) => String(decodeJwt(refreshToken).jti);

onEachEngine('the sessions of a user', (engine) => {
  const settings = { SESSION_IDLE_DAYS: '2', SESSIONS_PER_USER: '4', TRUST_PROXY: '1' };
  const deskbell = useDeskbell(engine, settings);
  const countOpen = async (userId: number) => {
    const sql = 'select id from sessions where user_id = $1 and revoked_at is null';
    return (await deskbell.database.all(sql, [userId])).length;
  };
  const from = (address: string) => ({ 'x-forwarded-for': address });

  it('end after SESSION_IDLE_DAYS, and every refresh prolongs it', async () => {
    const { refresh_token } = (await login(deskbell)).json;
    for (let time = 0; time < 2; time += 1) {
      await deskbell.clock.advance(2 * DAY_SECONDS - 60);
      assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    }
    await deskbell.clock.advance(2 * DAY_SECONDS + 1);
    assertError(await refresh(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    assertError(await rotate(deskbell, refresh_token), 401, 'TOKEN_EXPIRED');
    const { access_token } = (await login(deskbell)).json;
    const ids = (await list(deskbell, access_token)).json.map(({ id }: { id: string }) => id);
    assert.ok(!ids.includes(sessionOf(refresh_token)));
  });

  it('are listed with their times and roughly their address, the last used first', async () => {
    const user = await addUser(deskbell);
    const first = (await login(deskbell, user, { ...from('192.0.2.77'), 'user-agent': 'curl/8.5.0' })).json;
    await deskbell.clock.advance(600);
    const second = (await login(deskbell, user, from('2001:db8:1:2::9'))).json;
    const { status, json } = await list(deskbell, second.access_token);
    assert.equal(status, 200);
    assert.deepEqual(
      json.map(({ created_at: _created, last_used_at: _used, ...rest }: Record<string, string>) => rest),
      [
        { id: sessionOf(second.refresh_token), address: '2001:db8:1::/48', device: 'node', current: true },
        { id: sessionOf(first.refresh_token), address: '192.0.2.0/24', device: 'curl', current: false },
      ],
    );
    for (const session of json) assert.equal(session.created_at, session.last_used_at);

    await deskbell.call('POST', '/api/v1/auth/refresh', {
      body: { refresh_token: first.refresh_token },
      headers: from('198.51.100.5'),
    });
    const [latest] = (await list(deskbell, first.access_token)).json;
    assert.equal(latest.id, sessionOf(first.refresh_token));
    assert.equal(latest.address, '198.51.100.0/24');
    assert.equal(latest.current, true);
    assert.ok(latest.last_used_at > latest.created_at);
  });

  it('can be ended one by one or all others at once, and only by their user', async () => {
    const user = await addUser(deskbell);
    const [mine, other] = [(await login(deskbell, user)).json, (await login(deskbell, user)).json];
    const stranger = (await login(deskbell, OPERATOR)).json;
    const end = (id: string, token?: string) => deskbell.call('DELETE', `${SESSIONS}/${id}`, { token });
    const id = sessionOf(other.refresh_token);
    const unknown = ['00000000-0000-4000-8000-000000000000', 'x', '%00', '1%20or%201=1'];
    for (const one of unknown) assertError(await end(one, mine.access_token), 404, 'SESSION_NOT_FOUND');
    assertError(await end(id, stranger.access_token), 404, 'SESSION_NOT_FOUND');
    assertError(await end(id), 401, 'INVALID_TOKEN');
    assert.equal((await me(deskbell, other.access_token)).status, 200);

    const reply = await end(id, mine.access_token);
    assert.deepEqual([reply.status, reply.json], [200, { message: 'Signed out.' }]);
    assertError(await me(deskbell, other.access_token), 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, other.refresh_token), 401, 'INVALID_TOKEN');
    assertError(await end(id, mine.access_token), 404, 'SESSION_NOT_FOUND');
    const another = (await login(deskbell, user)).json;
    const others = await deskbell.call('DELETE', SESSIONS, { token: mine.access_token });
    assert.deepEqual(others.json, { ended: 1 });
    assertError(await me(deskbell, another.access_token), 401, 'INVALID_TOKEN');
    assert.equal((await list(deskbell, mine.access_token)).json.length, 1);
  });

  it('are at most as many as is set: the one that was not used for longest ends', async () => {
    const user = await addUser(deskbell);
    const [used, unused] = [(await login(deskbell, user)).json, (await login(deskbell, user)).json];
    await deskbell.clock.advance(400);
    await Promise.all(Array.from({ length: 2 }, () => login(deskbell, user)));
    await refresh(deskbell, used.refresh_token);
    assert.equal((await me(deskbell, unused.access_token)).status, 200);

    const { access_token } = (await login(deskbell, user)).json;
    assert.equal((await list(deskbell, access_token)).json.length, 4);
    assertError(await refresh(deskbell, unused.refresh_token), 401, 'INVALID_TOKEN');
    // The sign-in does not wait until the server has read which session it ended.
    await until('its token is refused', async () => (await me(deskbell, unused.access_token)).status === 401);
    assert.equal((await me(deskbell, used.access_token)).status, 200);
    await Promise.all(Array.from({ length: 8 }, () => login(deskbell, user)));
    assert.equal(await countOpen(user.id), 4);
  });

  it('stay ended if the user is disabled and enabled again in the same second', async () => {
    const { database, clock } = deskbell;
    const user = await addUser(deskbell);
    clock.stop();
    const old = (await login(deskbell, user)).json;
    await disableUser(database, user.id, clock.now(), SERVER);
    await enableUser(database, user.id, clock.now(), SERVER);
    const fresh = (await login(deskbell, user)).json;
    clock.go();
    await until('the token is refused', async () => (await me(deskbell, old.access_token)).status === 401);
    assertError(await refresh(deskbell, old.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await me(deskbell, fresh.access_token)).status, 200);
  });

  describe('rotating a refresh token', () => {
    // On a busy machine seconds pass between two requests.
    before(() => deskbell.clock.stop());
    after(() => deskbell.clock.go());
    const signIn = async (): Promise<string> => (await login(deskbell)).json.refresh_token;

    it('returns a new one that ends when the session ends', async () => {
      const first = await signIn();
      await deskbell.clock.advance(100);
      const reply = await rotate(deskbell, first);
      assert.equal(reply.status, 200, reply.text);
      const { access_token, refresh_token, ...rest } = reply.json;
      assert.deepEqual(rest, { token_type: 'bearer', expires_in: 900 });
      assert.notEqual(refresh_token, first);
      assert.ok(Math.abs(decodeJwt(refresh_token).exp! - decodeJwt(first).exp!) <= 1);
      assert.equal((await me(deskbell, access_token)).status, 200);
      assert.equal((await refresh(deskbell, refresh_token)).status, 200);
    });

    it('a replaced token that is used again ends the session and its access tokens', async () => {
      for (const [times, use] of [
        [1, rotate],
        [1, refresh],
        [2, refresh],
      ] as const) {
        const stolen = await signIn();
        let latest = { access_token: '', refresh_token: stolen };
        for (let n = 0; n < times; n += 1) latest = (await rotate(deskbell, latest.refresh_token)).json;
        assertError(await use(deskbell, stolen), 401, 'INVALID_TOKEN');
        assertError(await me(deskbell, latest.access_token), 401, 'INVALID_TOKEN');
        assertError(await refresh(deskbell, latest.refresh_token), 401, 'INVALID_TOKEN');
      }
    });

    it('two programs with one token are noticed, even if they rotate it at the same time', async () => {
      const token = await signIn();
      const replies = await Promise.all([rotate(deskbell, token), rotate(deskbell, token)]);
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 401]);
      const { json } = replies.find(({ status }) => status === 200)!;
      assertError(await refresh(deskbell, json.refresh_token), 401, 'INVALID_TOKEN');
    });
  });
});
