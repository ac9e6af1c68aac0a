/** What NODE_ENV=production changes, and who may see the metrics. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { freePort } from '../../scripts/services.ts';
import { SERVER } from '../../src/audit/record.ts';
import { createPasswords } from '../../src/auth/passwords/passwords.ts';
import { insertUser } from '../../src/auth/users.ts';
import { assertError, startDeskbell, useDeskbell } from '../support/server.ts';

const USER = { email: 'alma@shop.example', password: 'quiet lemon harbour' };
const NAME = '__Host-deskbell_refresh';

describe('a server in production', () => {
  const deskbell = useDeskbell('sqlite', { NODE_ENV: 'production', DEMO: 'false', TRUST_PROXY: '1' });
  before(async () => {
    const passwordHash = await createPasswords(1).hash(USER.password);
    const user = { merchantId: null, email: USER.email, name: 'Alma', role: 'admin', passwordHash } as const;
    await deskbell.database.transaction((tx) => insertUser(tx, { ...user, at: new Date() }, SERVER));
  });
  const session = (endpoint: string, cookie = '', body?: unknown) =>
    deskbell.call('POST', `/session/${endpoint}`, { body, headers: { 'x-deskbell-dashboard': '1', cookie } });
  const signIn = async () => (await session('login', '', USER)).headers.getSetCookie()[0]!;

  it('sets a cookie that needs TLS and belongs to this host alone', async () => {
    const [pair, ...attributes] = (await signIn()).split('; ');
    assert.match(pair!, new RegExp(`^${NAME}=[\\w-]+\\.[\\w-]+\\.[\\w-]+$`));
    const expected = ['HttpOnly', `Max-Age=${30 * 86_400}`, 'Path=/', 'SameSite=Strict', 'Secure'];
    assert.deepEqual(attributes.sort(), expected);
    const renewed = await session('refresh', pair);
    assert.equal(renewed.status, 200, renewed.text);
  });

  it('ignores the cookie of an earlier version, which another host could have set, and removes it', async () => {
    const FORMER = 'deskbell_refresh';
    const token = (await signIn()).split('; ')[0]!.split('=')[1]!;
    const refused = await session('refresh', `${FORMER}=${token}`);
    assertError(refused, 401, 'INVALID_TOKEN');
    assert.match(refused.headers.getSetCookie().join(), new RegExp(`${FORMER}=; Max-Age=0; Path=/session;`));
    assert.equal((await session('refresh', `${NAME}=${token}`)).status, 200);
    const out = await session('logout', `${NAME}=${token}`);
    assert.match(out.headers.getSetCookie().join(), new RegExp(`^${NAME}=; Max-Age=0; Path=/; `));
  });

  it('asks browsers that came over TLS to use only TLS', async () => {
    const hsts = async (headers: Record<string, string>) =>
      (await deskbell.call('GET', '/healthz', { headers })).headers.get('strict-transport-security');
    assert.equal(await hsts({ 'x-forwarded-proto': 'https' }), 'max-age=31536000');
    assert.equal(await hsts({}), null);
  });

  it('gives its metrics only to its own machine, if no token or port is set', async () => {
    assert.equal((await deskbell.call('GET', '/metrics')).status, 200);
    for (const header of ['x-forwarded-for', 'forwarded']) {
      const headers = { [header]: '203.0.113.9' };
      assertError(await deskbell.call('GET', '/metrics', { headers }), 403, 'FORBIDDEN');
    }
  });
});

describe('the metrics', () => {
  const METRICS_TOKEN = 'a-token-for-metrics';
  const deskbell = useDeskbell('sqlite', { METRICS_TOKEN });

  it('need METRICS_TOKEN as bearer token', async () => {
    const metrics = (token?: string) => deskbell.call('GET', '/metrics', { token });
    for (const token of [undefined, 'another-token-for-metrics', await deskbell.signIn()])
      assertError(await metrics(token), 401, 'INVALID_TOKEN');
    assert.match((await metrics(METRICS_TOKEN)).text, /deskbell_http_requests_total/);
  });

  it('are on METRICS_PORT and nowhere else', async () => {
    const port = await freePort();
    const own = await startDeskbell('sqlite', { METRICS_PORT: String(port) });
    assertError(await own.call('GET', '/metrics'), 404, 'NOT_FOUND');
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.match(await response.text(), /deskbell_http_requests_total/);
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/v1/auth/me`)).status, 404);
    await own.close();
    await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
  });
});
