import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { decodeProtectedHeader } from 'jose';
import { type Merchant, useMerchant } from '../support/merchants.ts';
import { metric, scrape } from '../support/scrape.ts';
import {
  assertError,
  type CallOptions,
  type Deskbell,
  NOTIFICATIONS,
  raise,
  useDeskbell,
} from '../support/server.ts';

describe('operations', () => {
  const deskbell = useDeskbell('sqlite');

  it('report that the process and its database are healthy', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { status, json } = await deskbell.call('GET', path);
      assert.deepEqual([status, json], [200, { status: 'ok' }]);
    }
  });

  it('publish the key that a token names, and no private key', async () => {
    const { json, headers } = await deskbell.call('GET', '/.well-known/jwks.json');
    const { kid, alg } = decodeProtectedHeader(await deskbell.signIn());
    const { x, ...key } = json.keys.find((one: { kid: string }) => one.kid === kid);
    assert.deepEqual([typeof x, key], ['string', { kty: 'OKP', crv: 'Ed25519', kid, alg, use: 'sig' }]);
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
  });

  it('count times in cumulative buckets', async () => {
    for (const path of ['/healthz', '/healthz', '/healthz']) await deskbell.call('GET', path);
    const { text } = await deskbell.call('GET', '/metrics');
    const figures = (name: string) =>
      [...text.matchAll(/^(\w+)\{(?:le="([^"]+)",)?method="GET",route="\/healthz"\} (\S+)$/gm)]
        .filter(([, metric]) => metric === `deskbell_http_request_seconds_${name}`)
        .map(([, , bound, value]) => [bound, Number(value)] as const);
    const buckets = figures('bucket');
    const [[, total]] = figures('count') as [[undefined, number]];
    assert.ok(total >= 3);
    assert.deepEqual(buckets.at(-1), ['+Inf', total]);
    for (const index of [0, 1]) {
      const column = buckets.slice(0, -1).map((bucket) => Number(bucket[index]));
      assert.deepEqual(
        column,
        column.toSorted((a, b) => a - b),
      );
    }
    const [slowest] = buckets.find(([, count]) => count === total)!;
    const [[, sum]] = figures('sum') as [[undefined, number]];
    assert.ok(sum > 0 && sum <= total * Number(slowest), `${sum} s in total, the slowest ${slowest}`);
  });

  it('count a 500 of the contract as refused; only a real failure counts as failed and is logged as an error', async () => {
    const token = await deskbell.signIn();
    const path = await raise(deskbell, token);
    const bad = await deskbell.call('POST', `${path}/answer`, { token, body: {} });
    assertError(bad, 500, 'VALIDATION_ERROR', 'answer');
    assert.deepEqual(await counts(deskbell), { refused: 1, failed: 0 });
    // Of the requests: the background may notice at any moment that a table is gone.
    const errors = () =>
      deskbell.logged
        .map((line) => JSON.parse(line))
        .filter(({ level, request_id }) => level === 'error' && request_id !== undefined);
    assert.deepEqual(errors(), []);

    await deskbell.database.script('alter table notifications rename to elsewhere');
    const broken = await deskbell.call('POST', `${path}/answer`, { token, body: { answer: 'Yes.' } });
    assertError(broken, 500, 'INTERNAL_ERROR');
    assert.deepEqual(await counts(deskbell), { refused: 1, failed: 1 });
    const [failure] = errors();
    assert.equal(failure.request_id, broken.headers.get('x-request-id'));
  });
});

/** Counts of the answer endpoint, by outcome. */
async function counts(deskbell: Deskbell): Promise<Record<string, number>> {
  const samples = await scrape(deskbell);
  const count = (outcome: string) =>
    metric(samples, 'deskbell_http_requests_total', {
      ...{ method: 'POST', route: `${NOTIFICATIONS}/:notification_id/answer` },
      ...{ status: '500', outcome },
    }) ?? 0;
  return { refused: count('refused'), failed: count('failed') };
}

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
    const sent = async (id?: string) => {
      const { headers } = await call('/healthz', {
        headers: id ? { 'x-request-id': id } : {},
      });
      return headers.get('x-request-id');
    };
    assert.equal(await sent('trace-42:a.b_c'), 'trace-42:a.b_c');
    const replaced = await Promise.all([sent(), sent('two words'), sent('"}{'), sent('x'.repeat(129))]);
    for (const id of replaced) assert.match(id!, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    assert.equal(new Set(replaced).size, replaced.length);
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
      const without = await call(path, { token });
      const having = await call(`${path}/`, { token });
      assert.equal(without.status, 200, path);
      assert.equal(having.text, without.text, path);
    }
  });

  const get = async (path: string, encoding: string, token = '') => {
    const headers = { 'accept-encoding': encoding, authorization: `Bearer ${token}` };
    const response = await fetch(shop.deskbell.url + path, { headers });
    return {
      encoding: response.headers.get('content-encoding'),
      vary: response.headers.get('vary'),
      bytes: Number(response.headers.get('content-length')),
      text: await response.text(),
    };
  };

  it('is compressed if it is long and the client accepts it', async () => {
    const plain = await get('/openapi.json', 'identity');
    assert.equal(plain.encoding, null);
    for (const [accepted, used] of [
      ['gzip', 'gzip'],
      ['br, GZIP;q=0.5', 'gzip'],
      ['*', 'gzip'],
      ['gzip;q=0', null],
      // This document is only kept with gzip.
      ['br', null],
    ] as const) {
      const packed = await get('/openapi.json', accepted);
      assert.equal(packed.encoding, used, accepted);
      assert.match(packed.vary!, /accept-encoding/i);
      assert.equal(packed.text, plain.text);
    }
    assert.equal((await get('/healthz', 'gzip')).encoding, null);
  });

  it('is compressed with Brotli at a quality that takes as long as gzip, not three hundred times as long', async () => {
    const list = `${NOTIFICATIONS}/`;
    for (let n = 0; n < 10; n += 1) await shop.raise(`Do you sell ${n} kilos of coffee?`);
    const token = await shop.token();
    const plain = await get(list, 'identity', token);
    const packed = await get(list, 'br', token);
    assert.equal(packed.encoding, 'br');
    assert.equal(packed.text, plain.text);
    const withQuality = (quality: number) =>
      brotliCompressSync(plain.text, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }).length;
    assert.deepEqual([packed.bytes, packed.bytes > withQuality(11)], [withQuality(4), true]);
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
  const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');

  it('is refused by default', async () => {
    for (const reply of [
      await preflight(closed, 'https://shop.example'),
      await closed.deskbell.call('GET', '/healthz', { headers: { origin: 'https://shop.example' } }),
    ]) {
      assert.deepEqual(
        [...reply.headers.keys()].filter((name) => name.startsWith('access-control-')),
        [],
      );
    }
  });

  it('is allowed if CORS_ORIGINS names it, with the headers that the API reads', async () => {
    for (const origin of ['https://shop.example', 'https://desk.example']) {
      const reply = await preflight(open, origin);
      assert.equal(reply.status, 204);
      assert.equal(allowed(reply), origin);
      assert.match(reply.headers.get('access-control-allow-methods')!, /DELETE/);
      const headers = reply.headers.get('access-control-allow-headers')!.toLowerCase().split(/, */);
      for (const name of [
        ...['authorization', 'content-type', 'idempotency-key', 'if-none-match'],
        ...['mcp-protocol-version', 'mcp-method', 'mcp-name'],
      ]) {
        assert.ok(headers.includes(name), name);
      }
      assert.match(reply.headers.get('vary')!, /origin/i);
      assert.equal(reply.headers.get('access-control-allow-credentials'), null);
    }
    assert.notEqual(allowed(await preflight(open, 'https://evil.example')), 'https://evil.example');
    assert.equal(allowed(await preflight(everybody, 'https://anybody.example')), '*');
  });

  it('can read errors, and the headers that the API writes', async () => {
    const reply = await open.deskbell.call('GET', `${NOTIFICATIONS}/`, {
      headers: { origin: 'https://shop.example' },
    });
    assertError(reply, 401, 'INVALID_TOKEN');
    assert.equal(allowed(reply), 'https://shop.example');
    const exposed = reply.headers.get('access-control-expose-headers')!.toLowerCase().split(/, */);
    for (const name of ['etag', 'link', 'location', 'retry-after', 'x-request-id', 'idempotency-replayed']) {
      assert.ok(exposed.includes(name), name);
    }
  });
});
