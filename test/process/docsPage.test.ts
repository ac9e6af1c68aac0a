import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { assertError } from '../support/server.ts';

describe('the docs page', () => {
  const shop = useMerchant('sqlite');
  const get = (path: string) => shop.deskbell.call('GET', path);

  it('loads with all its files, all from this server', async () => {
    const page = await get('/docs');
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    const addresses = page.text.matchAll(/\b(?:src|href|url)\s*[=:]\s*['"](?!data:)([^'"]+)/g);
    assert.deepEqual(
      [...addresses].map(([, one]) => one),
      ['/docs/scalar.js', '/openapi.json'],
    );
    assert.doesNotMatch(page.text, /https?:\/\//);
    assert.equal((await get('/openapi.json')).status, 200);
    const { headers, text } = await get('/docs/scalar.js');
    assert.match(headers.get('cache-control')!, /max-age=\d+/);
    assert.match(text, /createApiReference/);
    assert.match(page.text, /persistAuth: false/, 'keeps no token in the browser');
  });

  it('has a policy that allows only its own files and scripts', async () => {
    const [page, again] = await Promise.all([get('/docs'), get('/docs')]);
    const policy = page.headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; /);
    assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
    const nonce = /'nonce-([\w+/=]{20,})'/.exec(policy)![1]!;
    for (const [script] of page.text.matchAll(/<script[^>]*>/g))
      assert.ok(script.includes(`nonce="${nonce}"`));
    assert.notEqual(again.headers.get('content-security-policy'), policy, 'a nonce is used once');
  });

  it('/llms.txt leads language models to the docs of this server', async () => {
    const { text, headers } = await get('/llms.txt');
    assert.match(headers.get('content-type')!, /^text\/plain/);
    assert.match(text, /^# Deskbell\n\n> \S.*\n/);
    const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, path]) => path!);
    assert.ok(links.includes('/docs/assistant.md') && links.includes('/openapi.json'), text);
    for (const path of links) assert.equal((await get(path)).status, 200, path);
    const page = await get('/docs/assistant.md');
    assert.match(page.headers.get('content-type')!, /^text\/markdown/);
    assert.equal(page.text, readFileSync(join(root, 'docs/assistant.md'), 'utf8'));
  });
});

describe('with DOCS=false', () => {
  const shop = useMerchant('sqlite', { DOCS: 'false' });

  it('there are no docs, and the dashboard does not link to them', async () => {
    const get = (path: string) => shop.deskbell.call('GET', path);
    const { text, headers } = await get('/');
    assert.match(text, /<html[^>]* data-docs="off"/);
    assert.match(headers.get('content-security-policy')!, /script-src 'self'/);
    for (const path of ['/docs', '/docs/scalar.js', '/docs/api.md', '/openapi.json', '/llms.txt'])
      assertError(await get(path), 404, 'NOT_FOUND');
  });
});
