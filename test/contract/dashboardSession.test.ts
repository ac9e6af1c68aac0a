import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { disableUser } from '../../src/auth/users.ts';
import {
  AURORA,
  addUser,
  assertError,
  type Deskbell,
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
  { cookie, body, headers = OURS }: { cookie?: string; body?: unknown; headers?: object } = {},
) =>
  deskbell.call('POST', `/session/${endpoint}`, {
    body,
    headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
  });

const signIn = async (deskbell: Deskbell, user: object = AURORA) => {
  const reply = await session(deskbell, 'login', { body: user });
  assert.equal(reply.status, 200, reply.text);
  return reply;
};
const refused = (reply: Reply) => assertError(reply, 401, 'INVALID_TOKEN');

const setCookie = ({ headers }: Reply) => headers.get('set-cookie') ?? '';
const cookieOf = (reply: Reply) => setCookie(reply).split(';')[0]!;
const attributesOf = (reply: Reply) => setCookie(reply).split('; ').slice(1).sort();
const CLEARED = /^deskbell_refresh=; Max-Age=0;/;

onEachEngine('the dashboard’s session', (engine) => {
  const deskbell = useDeskbell(engine, { TRUST_PROXY: '1' });
  const newCookie = async () => cookieOf(await signIn(deskbell));
  const renewal = (cookie: string, headers: object = OURS) =>
    session(deskbell, 'refresh', { cookie, headers });
  const renew = async (cookie: string): Promise<string> => {
    const reply = await renewal(cookie);
    assert.equal(reply.status, 200, reply.text);
    return cookieOf(reply);
  };

  it('renews the access token any number of times, each time with a new cookie', async () => {
    const first = await signIn(deskbell);
    let cookie = cookieOf(first);
    for (let time = 0; time < 2; time += 1) {
      await deskbell.clock.advance(60);
      const renewed = await renewal(cookie);
      assert.deepEqual(Object.keys(renewed.json), ['access_token', 'token_type', 'expires_in']);
      assert.notEqual(cookieOf(renewed), cookie);
      assert.deepEqual(attributesOf(renewed), attributesOf(first));
      cookie = cookieOf(renewed);
      assert.equal((await me(deskbell, renewed.json.access_token)).status, 200);
    }
  });

  it('ends if a copy of an old cookie is used: by the thief later, by the owner later, or elsewhere', async () => {
    const ELSEWHERE = { ...OURS, 'x-forwarded-for': '198.51.100.7' };
    // After two renewals by the owner.
    const stolen = await newCookie();
    const second = await renew(stolen);
    await deskbell.clock.advance(60);
    const third = await renew(second);
    for (const cookie of [stolen, third]) refused(await renewal(cookie));

    // The thief is first, and the owner comes back.
    const copied = await newCookie();
    const owners = await renew(copied);
    await deskbell.clock.advance(60);
    const thiefs = await renew(copied);
    await deskbell.clock.advance(60);
    for (const cookie of [owners, thiefs]) refused(await renewal(cookie));

    // From another address, right after the owner.
    const watched = await newCookie();
    const next = await renew(watched);
    const elsewhere = await renewal(watched, ELSEWHERE);
    assert.notEqual(cookieOf(elsewhere), next);
    await deskbell.clock.advance(60);
    refused(await renewal(next));
    refused(await renewal(cookieOf(elsewhere), ELSEWHERE));
  });

  it('stays if tabs refresh at the same time', async () => {
    // Cookies of two different seconds differ.
    deskbell.clock.stop();
    const first = await newCookie();
    const tabs = await Promise.all(Array.from({ length: 6 }, () => renew(first)));
    // A third tab uses the new cookie while a request with the old one is still on its way.
    const third = await renew(tabs[0]!);
    const slow = await renew(first);
    await deskbell.clock.advance(60);
    assert.equal(new Set(await Promise.all([...tabs, third, slow].map(renew))).size, 1);
    deskbell.clock.go();
  });

  it('stays if a response is lost, even if the next try is a day later', async () => {
    let cookie = await newCookie();
    for (let time = 0; time < 2; time += 1) {
      await renew(cookie);
      await deskbell.clock.advance(86_400);
      cookie = await renew(cookie);
      await deskbell.clock.advance(60);
    }
  });

  it('ends when its user signs out, signs in again in the same browser or is disabled', async () => {
    const { database, clock } = deskbell;
    const cookie = await newCookie();
    const out = await session(deskbell, 'logout', { cookie });
    assert.deepEqual([out.status, out.json.message], [200, 'Signed out.']);
    assert.match(setCookie(out), CLEARED);
    refused(await renewal(cookie));

    const first = await newCookie();
    const second = await session(deskbell, 'login', { body: AURORA, cookie: first });
    refused(await renewal(first));
    await renew(cookieOf(second));

    const { id, email, password } = await addUser(deskbell);
    const theirs = cookieOf(await signIn(deskbell, { email, password }));
    await disableUser(database, id, clock.now(), SERVER);
    const reply = await renewal(theirs);
    refused(reply);
    assert.match(setCookie(reply), CLEARED);
  });
});

describe('the cookie of the dashboard', () => {
  const deskbell = useDeskbell('sqlite', { TRUST_PROXY: '1' });

  it('has the refresh token, which no script, no other site and no other path gets', async () => {
    const reply = await signIn(deskbell);
    assert.deepEqual(Object.keys(reply.json).sort(), ['access_token', 'expires_in', 'token_type']);
    assert.equal((await me(deskbell, reply.json.access_token)).json.email, AURORA.email);
    assert.match(cookieOf(reply), /^deskbell_refresh=[\w-]+\.[\w-]+\.[\w-]+$/);
    const token = cookieOf(reply).split('=')[1]!;
    assert.ok(!reply.text.includes(token));
    const attributes = ['HttpOnly', `Max-Age=${30 * 86_400}`, 'Path=/session', 'SameSite=Strict'];
    assert.deepEqual(attributesOf(reply), attributes);
    const headers = { ...OURS, 'x-forwarded-proto': 'https' };
    const secure = await session(deskbell, 'login', { body: AURORA, headers });
    assert.deepEqual(attributesOf(secure), [...attributes, 'Secure']);

    const renewed = await session(deskbell, 'refresh', { cookie: cookieOf(reply) });
    // The API would not replace it.
    for (const cookie of [cookieOf(reply), cookieOf(renewed)]) {
      refused(await refresh(deskbell, cookie.split('=')[1]));
      assert.equal((await session(deskbell, 'refresh', { cookie })).status, 200);
    }
  });

  it('is of no use to other pages: their requests are forbidden, and change nothing', async () => {
    const cookie = cookieOf(await signIn(deskbell));
    for (const headers of [
      {},
      ...['cross-site', 'same-site'].map((site) => ({ ...OURS, 'sec-fetch-site': site })),
    ]) {
      for (const endpoint of ['login', 'refresh', 'logout'] as const) {
        const body = endpoint === 'login' ? '{"broken' : undefined;
        const reply = await session(deskbell, endpoint, { cookie, body, headers });
        assertError(reply, 403, 'FORBIDDEN');
        assert.equal(setCookie(reply), '');
      }
    }
    assert.equal((await session(deskbell, 'refresh', { cookie })).status, 200);
    // An old browser does not send where a request comes from.
    const headers = { 'x-deskbell-dashboard': '1' };
    assert.equal((await session(deskbell, 'login', { body: AURORA, headers })).status, 200);
  });

  it('is not set by a failed sign-in, whose error is that of the API', async () => {
    const { email } = await addUser(deskbell);
    const wrong = { email, password: 'wrong' };
    for (const body of [wrong, { email }, '[]']) {
      const here = await session(deskbell, 'login', { body });
      const there = await deskbell.call('POST', '/api/v1/auth/login', { body });
      assert.deepEqual([here.status, here.text], [there.status, there.text]);
      assert.equal(setCookie(here), '');
    }
  });
});
