import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { FAILURES_MAX } from '../../src/auth/attempts.ts';
import { disableUser } from '../../src/auth/users.ts';
import {
  AURORA,
  addUser,
  assertError,
  type Deskbell,
  login,
  me,
  onEachEngine,
  type Reply,
  refresh,
  useDeskbell,
} from '../support/server.ts';

/** What a browser sends: the header of our page, and the cookie as received. */
const OURS = { 'x-deskbell-dashboard': '1', 'sec-fetch-site': 'same-origin' };

const session = (
  deskbell: Deskbell,
  endpoint: 'login' | 'refresh' | 'logout',
  {
    cookie,
    body,
    headers = OURS,
  }: { cookie?: string; body?: unknown; headers?: Record<string, string> } = {},
) =>
  deskbell.call('POST', `/session/${endpoint}`, {
    body,
    headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
  });

const setCookie = ({ headers }: Reply) => headers.get('set-cookie') ?? '';
const cookieOf = (reply: Reply) => setCookie(reply).split(';')[0]!;
const attributesOf = (reply: Reply) => setCookie(reply).split('; ').slice(1).sort();
const CLEARED = /^deskbell_refresh=; Max-Age=0;/;

onEachEngine('the dashboard’s session', (engine) => {
  const deskbell = useDeskbell(engine, { TRUST_PROXY: '1' });
  const signIn = async (user: object = AURORA) => {
    const reply = await session(deskbell, 'login', { body: user });
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };

  it('signing in returns an access token, and puts the refresh token only in the cookie', async () => {
    const reply = await signIn();
    assert.deepEqual(Object.keys(reply.json).sort(), ['access_token', 'expires_in', 'token_type']);
    assert.equal((await me(deskbell, reply.json.access_token)).json.email, AURORA.email);
    assert.match(cookieOf(reply), /^deskbell_refresh=[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.ok(!reply.text.includes(cookieOf(reply).split('=')[1]!));
  });

  it('no script can read the cookie, no other site can send it, no other path receives it', async () => {
    const reply = await signIn();
    assert.deepEqual(attributesOf(reply), [
      'HttpOnly',
      `Max-Age=${30 * 86_400}`,
      'Path=/session',
      'SameSite=Strict',
    ]);
  });

  it('the access token can be renewed any number of times, each time with a new cookie', async () => {
    const first = await signIn();
    let cookie = cookieOf(first);
    for (let time = 0; time < 3; time += 1) {
      await deskbell.clock.advance(60);
      const renewed = await session(deskbell, 'refresh', { cookie });
      assert.equal(renewed.status, 200, renewed.text);
      assert.deepEqual(Object.keys(renewed.json), ['access_token', 'token_type', 'expires_in']);
      assert.notEqual(cookieOf(renewed), cookie);
      assert.deepEqual(attributesOf(renewed), attributesOf(first));
      cookie = cookieOf(renewed);
      assert.equal((await me(deskbell, renewed.json.access_token)).status, 200);
    }
  });

  const renew = async (cookie: string): Promise<string> => {
    const reply = await session(deskbell, 'refresh', { cookie });
    assert.equal(reply.status, 200, reply.text);
    return cookieOf(reply);
  };

  it('the API refuses the token of the cookie, which it would not replace', async () => {
    for (const cookie of [cookieOf(await signIn()), await renew(cookieOf(await signIn()))]) {
      assertError(await refresh(deskbell, cookie.split('=')[1]!), 401, 'INVALID_TOKEN');
      await renew(cookie);
    }
  });

  it('a copy of an old cookie ends the session', async () => {
    const stolen = cookieOf(await signIn());
    const second = await renew(stolen);
    await deskbell.clock.advance(60);
    const third = await renew(second);
    assertError(await session(deskbell, 'refresh', { cookie: stolen }), 401, 'INVALID_TOKEN');
    assertError(await session(deskbell, 'refresh', { cookie: third }), 401, 'INVALID_TOKEN');
  });

  it('a copy that is used first ends the session when the owner comes back', async () => {
    const stolen = cookieOf(await signIn());
    const second = await renew(stolen);
    await deskbell.clock.advance(60);
    const thief = await renew(stolen);
    await deskbell.clock.advance(60);
    assertError(await session(deskbell, 'refresh', { cookie: second }), 401, 'INVALID_TOKEN');
    assertError(await session(deskbell, 'refresh', { cookie: thief }), 401, 'INVALID_TOKEN');
  });

  it('an old cookie that is used elsewhere, right after the owner, ends the session as well', async () => {
    const stolen = cookieOf(await signIn());
    const second = await renew(stolen);
    const headers = { ...OURS, 'x-forwarded-for': '198.51.100.7' };
    const thief = await session(deskbell, 'refresh', { cookie: stolen, headers });
    assert.notEqual(cookieOf(thief), second);
    await deskbell.clock.advance(60);
    assertError(await session(deskbell, 'refresh', { cookie: second }), 401, 'INVALID_TOKEN');
    assertError(
      await session(deskbell, 'refresh', { cookie: cookieOf(thief), headers }),
      401,
      'INVALID_TOKEN',
    );
  });

  it('an old cookie ends the session once the new one was used', async () => {
    const stolen = cookieOf(await signIn());
    const second = await renew(stolen);
    await renew(second);
    await deskbell.clock.advance(31);
    assertError(await session(deskbell, 'refresh', { cookie: stolen }), 401, 'INVALID_TOKEN');
    assertError(await session(deskbell, 'refresh', { cookie: second }), 401, 'INVALID_TOKEN');
  });

  it('nobody is signed out by tabs that refresh at the same time', async () => {
    // Cookies of two different seconds differ.
    deskbell.clock.stop();
    const first = cookieOf(await signIn());
    const tabs = await Promise.all(Array.from({ length: 6 }, () => renew(first)));
    // A third tab uses the new cookie while a request with the old one is still on its way.
    const third = await renew(tabs[0]!);
    const slow = await renew(first);
    await deskbell.clock.advance(60);
    assert.deepEqual([...new Set(await Promise.all([...tabs, third, slow].map(renew)))].length, 1);
    deskbell.clock.go();
  });

  it('nobody is signed out because a response was lost, even if the next try is a day later', async () => {
    let cookie = cookieOf(await signIn());
    for (let time = 0; time < 3; time += 1) {
      await renew(cookie);
      await deskbell.clock.advance(86_400);
      cookie = await renew(cookie);
      await deskbell.clock.advance(60);
    }
  });

  it('the cookie is found among others', async () => {
    const cookie = cookieOf(await signIn());
    const among = `theme=dark; xdeskbell_refresh=a.b.c; ${cookie} ; broken; =x`;
    assert.equal((await session(deskbell, 'refresh', { cookie: among })).status, 200);
  });

  it('signing out ends the session on the server and removes the cookie', async () => {
    const cookie = cookieOf(await signIn());
    const out = await session(deskbell, 'logout', { cookie });
    assert.equal(out.status, 200);
    assert.equal(out.json.message, 'Signed out.');
    assert.match(setCookie(out), CLEARED);
    const after = await session(deskbell, 'refresh', { cookie });
    assertError(after, 401, 'INVALID_TOKEN');
    assert.match(setCookie(after), CLEARED);
    assertError(await refresh(deskbell, cookie.split('=')[1]), 401, 'INVALID_TOKEN');
  });

  it('signing out twice, or without a cookie, is not an error', async () => {
    const cookie = cookieOf(await signIn());
    await session(deskbell, 'logout', { cookie });
    for (const again of [{ cookie }, {}, { cookie: 'deskbell_refresh=nonsense' }]) {
      const reply = await session(deskbell, 'logout', again);
      assert.equal(reply.status, 200);
      assert.match(setCookie(reply), CLEARED);
    }
  });

  it('signing in again in the same browser ends the old session', async () => {
    const first = cookieOf(await signIn());
    const second = await session(deskbell, 'login', { body: AURORA, cookie: first });
    assert.notEqual(cookieOf(second), first);
    assertError(await session(deskbell, 'refresh', { cookie: first }), 401, 'INVALID_TOKEN');
    assert.equal((await session(deskbell, 'refresh', { cookie: cookieOf(second) })).status, 200);
  });

  const invalidCookies = ['', 'deskbell_refresh=', 'deskbell_refresh=x', 'deskbell_refresh', 'other=a.b.c'];
  for (const cookie of invalidCookies) {
    it(`the cookie ${JSON.stringify(cookie)} renews nothing and is removed`, async () => {
      const reply = await session(deskbell, 'refresh', cookie === '' ? {} : { cookie });
      assertError(reply, 401, 'INVALID_TOKEN');
      assert.match(setCookie(reply), CLEARED);
    });
  }

  it('an access token in the cookie is not accepted as a refresh token', async () => {
    const cookie = `deskbell_refresh=${await deskbell.signIn()}`;
    assertError(await session(deskbell, 'refresh', { cookie }), 401, 'INVALID_TOKEN');
  });

  it('a user who is disabled or deleted has no session', async () => {
    for (const leave of [
      (id: number) => disableUser(deskbell.database, id, deskbell.clock.now(), SERVER),
      async (id: number) => {
        await deskbell.database.run('delete from sessions where user_id = $1', [id]);
        await deskbell.database.run('delete from users where id = $1', [id]);
      },
    ]) {
      const user = await addUser(deskbell);
      const cookie = cookieOf(await signIn({ email: user.email, password: user.password }));
      await leave(user.id);
      const reply = await session(deskbell, 'refresh', { cookie });
      assertError(reply, 401, 'INVALID_TOKEN');
      assert.match(setCookie(reply), CLEARED);
    }
  });

  const foreign: [title: string, headers: Record<string, string>][] = [
    ['without the header', {}],
    ['with another value in the header', { 'x-deskbell-dashboard': 'true' }],
    ['from another site', { ...OURS, 'sec-fetch-site': 'cross-site' }],
    ['from another subdomain', { ...OURS, 'sec-fetch-site': 'same-site' }],
    ['from the address bar', { ...OURS, 'sec-fetch-site': 'none' }],
  ];
  for (const [title, headers] of foreign) {
    it(`a request ${title} is forbidden, and changes nothing`, async () => {
      const cookie = cookieOf(await signIn());
      for (const endpoint of ['login', 'refresh', 'logout'] as const) {
        const body = endpoint === 'login' ? '{"broken' : undefined;
        const reply = await session(deskbell, endpoint, { cookie, body, headers });
        assertError(reply, 403, 'FORBIDDEN');
        assert.equal(setCookie(reply), '');
      }
      assertError(await deskbell.call('GET', '/session/demo', { headers }), 403, 'FORBIDDEN');
      assert.equal((await session(deskbell, 'refresh', { cookie })).status, 200);
    });
  }

  it('an old browser that does not send the request’s origin can sign in', async () => {
    const headers = { 'x-deskbell-dashboard': '1' };
    assert.equal((await session(deskbell, 'login', { body: AURORA, headers })).status, 200);
  });

  it('a wrong password and an invalid body get the same errors as at the API’s sign-in', async () => {
    for (const body of [{ ...AURORA, password: 'wrong' }, { email: AURORA.email }, '[]']) {
      const here = await session(deskbell, 'login', { body });
      const there = await deskbell.call('POST', '/api/v1/auth/login', { body });
      assert.equal(here.status, there.status);
      assert.equal(here.text, there.text);
      assert.equal(setCookie(here), '');
    }
  });

  it('failed sign-ins here and at the API are counted together', async () => {
    const { email } = await addUser(deskbell);
    const wrong = { email, password: 'wrong' };
    for (let time = 0; time < FAILURES_MAX; time += 1) {
      const reply = await (time % 2 ? login(deskbell, wrong) : session(deskbell, 'login', { body: wrong }));
      assertError(reply, 401, 'INVALID_CREDENTIALS');
    }
    const right = { email, password: AURORA.password };
    assertError(await session(deskbell, 'login', { body: right }), 429, 'RATE_LIMITED');
    assertError(await login(deskbell, right), 429, 'RATE_LIMITED');
  });

  it('the session ends with its refresh token', async () => {
    const cookie = cookieOf(await signIn());
    await deskbell.clock.advance(30 * 86_400 + 1);
    const reply = await session(deskbell, 'refresh', { cookie });
    assertError(reply, 401, 'INVALID_TOKEN');
    assert.match(setCookie(reply), CLEARED);
  });

  it('the cookie is Secure only if the browser uses https', async () => {
    const { headers } = { headers: { ...OURS, 'x-forwarded-proto': 'https' } };
    assert.ok(attributesOf(await session(deskbell, 'login', { body: AURORA, headers })).includes('Secure'));
    assert.ok(!attributesOf(await session(deskbell, 'login', { body: AURORA })).includes('Secure'));
  });

  it('neither cookie nor token is logged', async () => {
    const reply = await signIn();
    await session(deskbell, 'refresh', { cookie: cookieOf(reply) });
    const log = deskbell.logged.join('');
    for (const secret of [cookieOf(reply).split('=')[1]!, reply.json.access_token]) {
      assert.ok(!log.includes(secret));
    }
  });
});
