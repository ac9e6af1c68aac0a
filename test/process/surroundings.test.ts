import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { decodeProtectedHeader } from 'jose';
import {
  assertError,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';

describe('the docs page', () => {
  const deskbell = useDeskbell('sqlite');

  it('loads with all its files, all from this server', async () => {
    const page = await deskbell.call('GET', '/docs');
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    const addresses = [...page.text.matchAll(/\b(?:src|href|url)\s*[=:]\s*['"]([^'"]+)/g)].map(
      ([, one]) => one!,
    );
    const asked = addresses.filter((one) => !one.startsWith('data:'));
    assert.deepEqual(asked, ['/docs/scalar.js', '/openapi.json']);
    for (const path of asked) assert.equal((await deskbell.call('GET', path)).status, 200, path);
    assert.doesNotMatch(page.text, /https?:\/\//);
  });

  it('has a policy that allows only its own files and scripts', async () => {
    const [page, again] = await Promise.all([deskbell.call('GET', '/docs'), deskbell.call('GET', '/docs')]);
    const policy = page.headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; /);
    assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
    const nonce = /'nonce-([\w+/=]{20,})'/.exec(policy)![1]!;
    for (const [script] of page.text.matchAll(/<script[^>]*>/g))
      assert.ok(script.includes(`nonce="${nonce}"`));
    assert.notEqual(again.headers.get('content-security-policy'), policy, 'a nonce is used once');
  });

  it('has a script that browsers may cache', async () => {
    const { headers, text } = await deskbell.call('GET', '/docs/scalar.js');
    assert.match(headers.get('content-type')!, /^text\/javascript/);
    assert.match(headers.get('cache-control')!, /max-age=\d+/);
    assert.match(text, /createApiReference/);
  });
});

onEachEngine('operations', (engine) => {
  const deskbell = useDeskbell(engine);

  it('report that the process and its database are healthy', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { status, json } = await deskbell.call('GET', path);
      assert.deepEqual({ status, json }, { status: 200, json: { status: 'ok' } });
    }
  });

  it('publish the key that a token names, and no private key', async () => {
    const token = await deskbell.signIn();
    const { json, headers } = await deskbell.call('GET', '/.well-known/jwks.json');
    const { kid, alg } = decodeProtectedHeader(token);
    const key = json.keys.find((one: { kid: string }) => one.kid === kid);
    assert.deepEqual(
      { ...key, x: undefined },
      { kty: 'OKP', crv: 'Ed25519', kid, alg, use: 'sig', x: undefined },
    );
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
  });

  it('count a 500 of the contract as refused; only a real failure counts as failed and is logged as an error', async () => {
    const token = await deskbell.signIn();
    const path = await raise(deskbell, token);
    const bad = await deskbell.call('POST', `${path}/answer`, { token, body: {} });
    assertError(bad, 500, 'VALIDATION_ERROR', 'answer');
    assert.deepEqual(await counts(deskbell), { refused: 1, failed: 0 });
    assert.deepEqual(levels(deskbell), ['info']);

    await deskbell.database.script('alter table notifications rename to elsewhere');
    const broken = await deskbell.call('POST', `${path}/answer`, { token, body: { answer: 'Yes.' } });
    assertError(broken, 500, 'INTERNAL_ERROR');
    assert.doesNotMatch(broken.text, /notifications|relation|table|select/i);
    assert.deepEqual(await counts(deskbell), { refused: 1, failed: 1 });
    assert.deepEqual(levels(deskbell), ['error', 'info']);
    // Work in the background may have failed, too.
    const failure = deskbell.logged
      .map((line) => JSON.parse(line))
      .find(({ level, request_id }) => level === 'error' && request_id !== undefined);
    assert.equal(
      failure.request_id,
      broken.headers.get('x-request-id'),
      'the log line has the request id of the response',
    );
  });
});

/** Counts of the answer endpoint, by outcome. */
async function counts({ call }: Deskbell): Promise<Record<string, number>> {
  const { text, headers } = await call('GET', '/metrics');
  assert.match(headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
  const count = (outcome: string) => {
    const labels = `method="POST",route="${NOTIFICATIONS}/:notification_id/answer",status="500",outcome="${outcome}"`;
    const line = text.split('\n').find((one) => one.startsWith(`deskbell_http_requests_total{${labels}}`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return { refused: count('refused'), failed: count('failed') };
}

it('the times of a route are counted in cumulative buckets', async () => {
  const deskbell = await startDeskbell('sqlite');
  try {
    for (const path of ['/readyz', '/readyz', '/readyz']) await deskbell.call('GET', path);
    const { text } = await deskbell.call('GET', '/metrics');
    const figures = (name: string) =>
      [...text.matchAll(/^(\w+)\{(?:le="([^"]+)",)?method="GET",route="\/readyz"\} (\S+)$/gm)]
        .filter(([, metric]) => metric === `deskbell_http_request_seconds_${name}`)
        .map(([, , bound, value]) => [bound, Number(value)] as const);
    const buckets = figures('bucket');
    assert.deepEqual(buckets.at(-1), ['+Inf', 3]);
    const bounds = buckets.slice(0, -1).map(([bound]) => Number(bound));
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
    );
    const counts = buckets.map(([, count]) => count);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    assert.deepEqual(figures('count'), [[undefined, 3]]);
    const [[, sum]] = figures('sum') as [[undefined, number]];
    const slowest = bounds.find((_, n) => counts[n] === 3)!;
    assert.ok(sum > 0 && sum <= 3 * slowest, `${sum} s in total, but no request took more than ${slowest} s`);
  } finally {
    await deskbell.close();
  }
});

/** Of the requests: the background may notice at any moment that a table is gone. */
const levels = ({ logged }: Deskbell) => {
  const lines = logged.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id !== undefined);
  return [...new Set(lines.map(({ level }) => level))].sort();
};

describe('every response', () => {
  const deskbell = useDeskbell('sqlite');

  it('has the security headers, and browsers do not cache it', async () => {
    const token = await deskbell.signIn();
    for (const [path, options, cache] of [
      ['/api/v1/auth/me', { token }, 'no-store'],
      ['/api/v1/auth/me', {}, 'no-store'],
      [`${NOTIFICATIONS}/`, { token }, 'private, no-cache'],
      ['/nowhere', {}, 'no-store'],
      ['/%', {}, 'no-store'],
    ] as const) {
      const { headers } = await deskbell.call('GET', path, options);
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
      const { headers } = await deskbell.call('GET', '/healthz', {
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
    deskbell.logged.length = 0;
    await deskbell.call('GET', `${NOTIFICATIONS}/1`, { headers: { 'x-request-id': 'seen' } });
    assert.equal(deskbell.logged.length, 1);
    const { time, ms, ...line } = JSON.parse(deskbell.logged[0]!);
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 10_000 && ms >= 0);
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
    const token = await deskbell.signIn();
    for (const path of [
      NOTIFICATIONS,
      `${NOTIFICATIONS}/1`,
      '/api/v1/auth/me',
      '/healthz',
      '/docs/scalar.js',
    ]) {
      const [without, having] = [
        await deskbell.call('GET', path, { token }),
        await deskbell.call('GET', `${path}/`, { token }),
      ];
      assert.equal(without.status, 200, path);
      assert.equal(having.text, without.text, path);
    }
  });

  const get = async (path: string, encoding: string, token = '') => {
    const headers = { 'accept-encoding': encoding, authorization: `Bearer ${token}` };
    const response = await fetch(deskbell.url + path, { headers });
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
    const token = await deskbell.signIn();
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
  const closed = useDeskbell('sqlite');
  const open = useDeskbell('sqlite', { CORS_ORIGINS: 'https://shop.example, https://desk.example' });
  const everybody = useDeskbell('sqlite', { CORS_ORIGINS: '*' });
  const preflight = (deskbell: Deskbell, origin: string) =>
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
      await closed.call('GET', '/healthz', { headers: { origin: 'https://shop.example' } }),
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
    const reply = await open.call('GET', `${NOTIFICATIONS}/`, {
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
