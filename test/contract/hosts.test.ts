import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AURORA, assertError, type Deskbell, rawCall, useDeskbell } from '../support/server.ts';

const DEMO_OFF = { DEMO: 'false' };

describe('the host name of a request', () => {
  const local = useDeskbell('sqlite');
  const named = useDeskbell('sqlite', {
    ...DEMO_OFF,
    HOST: '0.0.0.0',
    PUBLIC_URL: 'https://Desk.shop.example',
    ALLOWED_HOSTS: 'desk.internal, 10.0.0.5, [2001:db8::5]',
  });
  const open = useDeskbell('sqlite', { ...DEMO_OFF, HOST: '0.0.0.0' });

  const statusFor = async (deskbell: Deskbell, host: string, path = '/openapi.json') =>
    (await rawCall(deskbell, 'GET', path, { headers: { host } })).status;
  const OURS = ['localhost', 'LocalHost:8000', '127.0.0.1', '127.0.0.1:5173', '[::1]', '[::1]:8000'];
  const OTHERS = [
    ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:8000', '10.0.0.9'],
    ...['[2001:db8::9]', 'desk.shop.example.evil.example', 'x'],
  ];
  const NAMED = [
    'desk.shop.example',
    'DESK.shop.example:443',
    'desk.internal:8000',
    '10.0.0.5',
    '[2001:db8::5]',
  ];

  it('must be one of this machine while the server listens there', async () => {
    for (const host of OURS) assert.equal(await statusFor(local, host), 200, host);
    for (const host of [...OTHERS, ...NAMED]) assert.equal(await statusFor(local, host), 421, host);
  });

  it('may also be in PUBLIC_URL or ALLOWED_HOSTS', async () => {
    for (const host of [...OURS, ...NAMED]) assert.equal(await statusFor(named, host), 200, host);
    for (const host of OTHERS) assert.equal(await statusFor(named, host), 421, host);
  });

  it('may be any on a server for other machines without these settings, with a warning', async () => {
    for (const host of [...OURS, ...OTHERS]) assert.equal(await statusFor(open, host), 200, host);
    assert.match(open.logged.join(''), /"level":"warn".*Set PUBLIC_URL/);
    for (const { logged } of [local, named]) assert.doesNotMatch(logged.join(''), /PUBLIC_URL/);
  });

  it('that is wrong gets an error before a sign-in, a page or an unknown path is looked at', async () => {
    const headers = { host: 'evil.example', 'content-type': 'application/json' };
    const chunks = [JSON.stringify(AURORA)];
    for (const [method, path] of [
      ['POST', '/api/v1/auth/login'],
      ['GET', '/session/demo'],
      ['GET', '/'],
      ['GET', '/nowhere'],
      ['DELETE', '/openapi.json'],
    ] as const) {
      const sent = method === 'POST' ? { headers, chunks } : { headers };
      const reply = await rawCall(local, method, path, sent);
      assertError({ ...reply, headers: new Headers(reply.headers) }, 421, 'MISDIRECTED_REQUEST');
    }
  });

  it('does not matter for health checks and metrics, which call a process by its address', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal(await statusFor(named, '10.1.2.3:8000', path), 200, path);
    }
  });
});
