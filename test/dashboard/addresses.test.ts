import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { useMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { assertError } from '../support/server.ts';

const SETTINGS = ['shop', 'connection', 'team', 'account', 'assistant', 'developer', 'data'];
const ADDRESSES = [
  ...[
    '/',
    '/inbox',
    '/inbox?tab=answered&q=beans',
    '/inbox/1',
    '/inbox/1?tab=all',
    '/knowledge',
    '/knowledge/1',
  ],
  ...['/overview', '/settings', ...SETTINGS.map((name) => `/settings/${name}`)],
  ...['/test-phone', '/test-phone/1', '/invite', '/reset-password'],
];
const UNKNOWN = [
  ...['/nowhere', '/inbox/abc', '/settings/nothing', '/knowledge/1/2', '/index.html', '/apis', '/%E0%A4%A'],
  ...['/.git/config', '/package.json'],
];
const FOR_PROGRAMS = [
  ...['/api/v1/nothing', '/api', '/docs/nothing', '/assets/nothing.js', '/.well-known/nothing'],
  ...['/session/nothing', '/webhooks/nothing', '/assets/', '/icons/..%2findex.html'],
  ...['/assets/..%2findex.html', '/assets/..%2f..%2f..%2fpackage.json', '/assets/%2e%2e%5cindex.html'],
];
const FROM_BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

const skip = !existsSync(`${root}/dashboard/dist/index.html`) && 'the dashboard is not built';

describe('the addresses of the dashboard', { skip }, () => {
  const shop = useMerchant('sqlite');
  const call = (method: string, path: string, headers: Record<string, string>) =>
    shop.deskbell.call(method, path, { headers });

  it('all open the dashboard, and unknown ones are a page too, with status 404', async () => {
    for (const [paths, status] of [
      [ADDRESSES, 200],
      [UNKNOWN, 404],
    ] as const) {
      for (const path of paths) {
        for (const method of ['GET', 'HEAD']) {
          const reply = await call(method, path, FROM_BROWSER);
          assert.equal(reply.status, status, `${method} ${path}`);
          assert.match(reply.headers.get('content-type') ?? '', /^text\/html/, path);
          const policy = reply.headers.get('content-security-policy') ?? '';
          assert.match(policy, /^default-src 'none'; script-src 'self'; /, path);
          // Nothing from other servers.
          assert.doesNotMatch(policy, /\w\.\w|https?:|\*|unsafe/);
        }
      }
    }
  });

  it('give programs unknown paths as errors in JSON, and everybody below the paths of programs', async () => {
    for (const path of UNKNOWN)
      for (const accept of ['*/*', 'application/json'])
        assertError(await call('GET', path, { accept }), 404, 'NOT_FOUND');
    for (const path of FOR_PROGRAMS) assertError(await call('GET', path, FROM_BROWSER), 404, 'NOT_FOUND');
    assertError(await call('POST', '/nowhere', FROM_BROWSER), 404, 'NOT_FOUND');
  });
});
