import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useMerchant } from '../support/merchants.ts';
import { AURORA, assertError, type Deskbell, rawCall, useDeskbell } from '../support/server.ts';

const DEMO_OFF = { DEMO: 'false' };
const OURS = ['LocalHost:8000', '127.0.0.1', '[::1]:8000'];
const OTHERS = ['evil.example:8000', 'localhost.evil.example', '10.0.0.9', '[2001:db8::9]'];
const NAMED = ['DESK.shop.example:443', 'desk.internal:8000', '10.0.0.5', '[2001:db8::5]'];

describe('the host name of a request', () => {
  const local = useMerchant('sqlite');
  const named = useDeskbell('sqlite', {
    ...DEMO_OFF,
    HOST: '0.0.0.0',
    PUBLIC_URL: 'https://Desk.shop.example',
    ALLOWED_HOSTS: 'desk.internal, 10.0.0.5, [2001:db8::5]',
  });
  const open = useDeskbell('sqlite', { ...DEMO_OFF, HOST: '0.0.0.0' });

  const statusFor = async (deskbell: Deskbell, host: string, path = '/openapi.json') =>
    (await rawCall(deskbell, 'GET', path, { headers: { host } })).status;

  it('must be one of this machine, in PUBLIC_URL or in ALLOWED_HOSTS', async () => {
    for (const host of OURS) assert.equal(await statusFor(local.deskbell, host), 200, host);
    for (const host of [...OTHERS, ...NAMED]) assert.equal(await statusFor(local.deskbell, host), 421, host);
    for (const host of [...OURS, ...NAMED]) assert.equal(await statusFor(named, host), 200, host);
    for (const host of OTHERS) assert.equal(await statusFor(named, host), 421, host);
  });

  it('may be any on a server for other machines without these settings, with a warning', async () => {
    for (const host of [...OURS, ...OTHERS]) assert.equal(await statusFor(open, host), 200, host);
    assert.match(open.logged.join(''), /"level":"warn".*Set PUBLIC_URL/);
    assert.doesNotMatch(named.logged.join(''), /PUBLIC_URL/);
  });

  it('that is wrong gets an error before a sign-in or an unknown path is looked at; monitoring may use any', async () => {
    const headers = { host: 'evil.example', 'content-type': 'application/json' };
    for (const [method, path, chunks] of [
      ['POST', '/api/v1/auth/login', [JSON.stringify(AURORA)]],
      ['GET', '/session/demo', []],
      ['DELETE', '/openapi.json', []],
    ] as [string, string, string[]][]) {
      const reply = await rawCall(local.deskbell, method, path, { headers, chunks });
      assertError({ ...reply, headers: new Headers(reply.headers) }, 421, 'MISDIRECTED_REQUEST');
    }
    for (const path of ['/healthz', '/readyz', '/metrics'])
      assert.equal(await statusFor(named, '10.1.2.3:8000', path), 200, path);
  });
});
