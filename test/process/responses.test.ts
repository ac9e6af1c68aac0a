import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { type Merchant, useMerchant } from '../support/merchants.ts';
import { metric, scrape } from '../support/scrape.ts';
import {
  assertError,
  type CallOptions,
  NOTIFICATIONS,
  type Reply,
  raise,
  rawCall,
  useDeskbell,
} from '../support/server.ts';

describe('operations', () => {
  const deskbell = useDeskbell('sqlite');
  /** Of the answer endpoint. */
  const count = async (outcome: string) => {
    const labels = {
      method: 'POST',
      route: `${NOTIFICATIONS}/:notification_id/answer`,
      status: '500',
      outcome,
    };
    return metric(await scrape(deskbell), 'deskbell_http_requests_total', labels) ?? 0;
  };

  it('count a 500 of the contract as refused; only a real failure counts as failed and is logged as an error', async () => {
    const token = await deskbell.signIn();
    const path = await raise(deskbell, token);
    const bad = await deskbell.call('POST', `${path}/answer`, { token, body: {} });
    assertError(bad, 500, 'VALIDATION_ERROR', 'answer');
    assert.deepEqual([await count('refused'), await count('failed')], [1, 0]);
    // Of the requests: the background may notice at any moment that a table is gone.
    const lines = () =>
      deskbell.logged.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id !== undefined);
    const errors = () => lines().filter(({ level }) => level === 'error');
    const ofRefusal = lines().filter(({ request_id }) => request_id === bad.headers.get('x-request-id'));
    assert.deepEqual(
      ofRefusal.map(({ level }) => level),
      ['info'],
    );

    await deskbell.database.script('alter table notifications rename to elsewhere');
    const broken = await deskbell.call('POST', `${path}/answer`, { token, body: { answer: 'Yes.' } });
    assertError(broken, 500, 'INTERNAL_ERROR');
    assert.deepEqual([await count('refused'), await count('failed')], [1, 1]);
    const [failure] = errors();
    assert.equal(failure.request_id, broken.headers.get('x-request-id'));
  });
});

describe('every response', () => {
  const shop = useMerchant('sqlite');
  const call = (path: string, options: CallOptions = {}) => shop.deskbell.call('GET', path, options);

  it('has the security headers, and browsers do not cache it', async () => {
    const token = await shop.token();
    for (const [path, options, cache] of [
      ['/api/v1/auth/me', { token }, 'no-store'],
      ['/api/v1/auth/me', {}, 'no-store'],
      [`${NOTIFICATIONS}/`, { token }, 'private, no-cache'],
      ['/nowhere', {}, 'no-store'],
      ['/%', {}, 'no-store'],
    ] as const) {
      const { headers } = await call(path, options);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
      assert.equal(headers.get('cache-control'), cache, path);
      assert.equal(headers.get('x-powered-by'), null);
      assert.equal(headers.get('server'), null);
    }
  });

  it('has the request’s own id, or a new one if that is missing or invalid', async () => {
    const sent = async (id?: string) =>
      (await call('/healthz', { headers: id ? { 'x-request-id': id } : {} })).headers.get('x-request-id');
    assert.equal(await sent('trace-42:a.b_c'), 'trace-42:a.b_c');
    const replaced = await Promise.all([sent(), sent('two words'), sent('"}{'), sent('x'.repeat(129))]);
    for (const id of replaced) assert.match(id!, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    assert.equal(new Set(replaced).size, replaced.length);
  });

  it('to TRACE is 405, and does not repeat what was sent', async () => {
    for (const path of ['/healthz', `${NOTIFICATIONS}/`]) {
      const headers = { authorization: 'Bearer canary' };
      const { status, text } = await rawCall(shop.deskbell, 'TRACE', path, { headers });
      assert.equal(status, 405, text);
      assert.ok(!text.includes('canary'));
    }
  });

  it('is logged as one line of JSON', async () => {
    await call(`${NOTIFICATIONS}/1`, { headers: { 'x-request-id': 'seen' } });
    const lines = shop.deskbell.logged.filter((line) => line.includes('"request_id":"seen"'));
    assert.equal(lines.length, 1);
    const { time, ms, ...line } = JSON.parse(lines[0]!);
    assert.ok(Date.parse(time) <= Date.now() && ms >= 0);
    assert.deepEqual(line, {
      level: 'info',
      request_id: 'seen',
      method: 'GET',
      route: `${NOTIFICATIONS}/:notification_id`,
      status: 401,
      code: 'INVALID_TOKEN',
      msg: 'request',
    });
  });

  it('is the same with and without a slash at the end', async () => {
    const token = await shop.token();
    const one = `${NOTIFICATIONS}/${await shop.raise()}`;
    for (const path of [NOTIFICATIONS, one, '/api/v1/auth/me', '/healthz']) {
      const [without, having] = [await call(path, { token }), await call(`${path}/`, { token })];
      assert.deepEqual([without.status, having.text], [200, without.text], path);
    }
  });

  const get = async (path: string, encoding: string, token = '') => {
    const headers = { 'accept-encoding': encoding, authorization: `Bearer ${token}` };
    const response = await fetch(shop.deskbell.url + path, { headers });
    const [used, vary] = ['content-encoding', 'vary'].map((name) => response.headers.get(name));
    return { used, vary, bytes: Number(response.headers.get('content-length')), text: await response.text() };
  };

  it('is compressed if it is long and the client accepts it', async () => {
    const plain = await get('/openapi.json', 'identity');
    assert.equal(plain.used, null);
    for (const [accepted, expected] of [
      ['gzip', 'gzip'],
      ['br, GZIP;q=0.5', 'gzip'],
      ['*', 'gzip'],
      ['gzip;q=0', null],
      // This document is only kept with gzip.
      ['br', null],
    ] as const) {
      const { used, vary, text } = await get('/openapi.json', accepted);
      assert.equal(used, expected, accepted);
      assert.match(vary!, /accept-encoding/i);
      assert.equal(text, plain.text);
    }
    assert.equal((await get('/healthz', 'gzip')).used, null);
  });

  it('is compressed with Brotli at a quality that takes as long as gzip, not three hundred times as long', async () => {
    const list = `${NOTIFICATIONS}/`;
    for (let n = 0; n < 10; n += 1) await shop.raise(`Do you sell ${n} kilos of coffee?`);
    const token = await shop.token();
    const plain = await get(list, 'identity', token);
    const { used, text, bytes } = await get(list, 'br', token);
    assert.deepEqual([used, text], ['br', plain.text]);
    const withQuality = (quality: number) =>
      brotliCompressSync(plain.text, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }).length;
    assert.deepEqual([bytes, bytes > withQuality(11)], [withQuality(4), true]);
  });
});

describe('another origin', () => {
  const closed = useMerchant('sqlite');
  const open = useMerchant('sqlite', { CORS_ORIGINS: 'https://shop.example, https://desk.example' });
  const everybody = useMerchant('sqlite', { CORS_ORIGINS: '*' });
  const preflight = ({ deskbell }: Merchant, origin: string) =>
    deskbell.call('OPTIONS', `${NOTIFICATIONS}/1`, {
      headers: {
        origin,
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'authorization,idempotency-key',
      },
    });
  const allowed = ({ headers }: Reply) => headers.get('access-control-allow-origin');
  const assertNames = ({ headers }: Reply, header: string, names: string) => {
    const listed = headers.get(header)!.toLowerCase().split(/, */);
    for (const name of names.split(' ')) assert.ok(listed.includes(name), name);
  };

  it('is refused by default', async () => {
    const headers = { origin: 'https://shop.example' };
    for (const reply of [
      await preflight(closed, headers.origin),
      await closed.deskbell.call('GET', '/healthz', { headers }),
    ])
      assert.ok(![...reply.headers.keys()].some((name) => name.startsWith('access-control-')));
  });

  it('is allowed if CORS_ORIGINS names it, with the headers that the API reads', async () => {
    for (const origin of ['https://shop.example', 'https://desk.example']) {
      const reply = await preflight(open, origin);
      assert.deepEqual([reply.status, allowed(reply)], [204, origin]);
      assertNames(reply, 'access-control-allow-methods', 'delete');
      const read = 'authorization content-type idempotency-key if-none-match';
      assertNames(reply, 'access-control-allow-headers', `${read} mcp-protocol-version mcp-method mcp-name`);
      assert.match(reply.headers.get('vary')!, /origin/i);
      assert.equal(reply.headers.get('access-control-allow-credentials'), null);
    }
    assert.notEqual(allowed(await preflight(open, 'https://evil.example')), 'https://evil.example');
    assert.equal(allowed(await preflight(everybody, 'https://anybody.example')), '*');
  });

  it('can read errors, and the headers that the API writes', async () => {
    const headers = { origin: 'https://shop.example' };
    const reply = await open.deskbell.call('GET', `${NOTIFICATIONS}/`, { headers });
    assertError(reply, 401, 'INVALID_TOKEN');
    assert.equal(allowed(reply), headers.origin);
    const written = 'etag link location retry-after x-request-id idempotency-replayed';
    assertNames(reply, 'access-control-expose-headers', written);
  });
});
