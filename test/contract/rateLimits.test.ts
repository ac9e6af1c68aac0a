import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, it, mock } from 'node:test';
import { Redis } from 'ioredis';
import { findProgram, freePort, startRedis } from '../../scripts/services.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  type CallOptions,
  type Deskbell,
  login,
  OPERATOR,
  onEachEngine,
  type Reply,
  redisUrl,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';

const PER_MINUTE = 5;
const PER_MERCHANT = 8;
const SETTINGS = {
  RATE_LIMIT_PER_MINUTE: String(PER_MINUTE),
  RATE_LIMIT_PER_MINUTE_PER_MERCHANT: '0',
  TRUST_PROXY: 'true',
};

/** The general limit counts for a minute, so each test uses its own addresses and users. */
let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return {
    'x-forwarded-for': `2001:db8:${(process.pid % 65_536).toString(16)}:${addresses.toString(16)}::1`,
  };
};
const signInAs = async (deskbell: Deskbell, user: Pick<typeof BOREALIS, 'email' | 'password'>) =>
  (await login(deskbell, user, newAddress())).json as { access_token: string; refresh_token: string };
const newToken = async (deskbell: Deskbell) =>
  (await signInAs(deskbell, await addUser(deskbell))).access_token;

const me = (deskbell: Deskbell, options: CallOptions) => deskbell.call('GET', '/api/v1/auth/me', options);
const remaining = ({ headers }: Reply) => Number(headers.get('ratelimit-remaining'));

async function useUp(deskbell: Deskbell, options: CallOptions, status: number): Promise<void> {
  for (let left = PER_MINUTE - 1; left >= 0; left -= 1) {
    const reply = await me(deskbell, options);
    assert.equal(reply.status, status, reply.text);
    assert.equal(remaining(reply), left);
  }
}

function assertLimited(reply: Reply): void {
  assertError(reply, 429, 'RATE_LIMITED');
  const seconds = Number(reply.headers.get('retry-after'));
  assert.ok(seconds > 30 && seconds <= 60, `Retry-After: ${seconds}`);
  assert.equal(remaining(reply), 0);
}

onEachEngine('the general limit', (engine) => {
  const deskbell = useDeskbell(engine, SETTINGS);
  afterEach(() => mock.restoreAll());

  const signIn = () => newToken(deskbell);

  it('every response has the limit, the remaining requests and the time until it resets', async () => {
    const { headers } = await me(deskbell, { headers: newAddress() });
    assert.equal(headers.get('ratelimit-limit'), String(PER_MINUTE));
    assert.equal(headers.get('ratelimit-remaining'), String(PER_MINUTE - 1));
    assert.equal(headers.get('ratelimit-reset'), '60');
    assert.equal(headers.get('retry-after'), null);
  });

  it('one request too many gets 429 with Retry-After, and is served after that time', async () => {
    const token = await signIn();
    await useUp(deskbell, { token }, 200);
    const refused = await me(deskbell, { token });
    assertLimited(refused);
    const realNow = Date.now.bind(Date);
    const waitedMs = Number(refused.headers.get('retry-after')) * 1000;
    mock.method(Date, 'now', () => realNow() + waitedMs);
    assert.equal((await me(deskbell, { token })).status, 200);
  });

  it('all endpoints count together, including the notification endpoints', async () => {
    const token = await signIn();
    const paths = ['/api/v1/notification/', '/api/v1/auth/me', '/api/v1/notification/4', '/openapi.json'];
    for (const [index, path] of paths.entries()) {
      assert.equal(remaining(await deskbell.call('GET', path, { token })), PER_MINUTE - 1 - index);
    }
    assert.equal((await deskbell.call('POST', '/api/v1/notification/request', { token })).status, 500);
    assertLimited(await deskbell.call('POST', '/api/v1/notification/request', { token }));
  });

  it('each user has an allowance, from any address', async () => {
    const [one, two] = [await signIn(), await signIn()];
    const address = newAddress();
    await useUp(deskbell, { token: one, headers: address }, 200);
    assertLimited(await me(deskbell, { token: one, headers: newAddress() }));
    assert.equal((await me(deskbell, { token: two, headers: address })).status, 200);
  });

  it('a new token gives no new allowance', async () => {
    const user = await addUser(deskbell);
    const first = await signInAs(deskbell, user);
    await useUp(deskbell, { token: first.access_token }, 200);
    const body = { refresh_token: first.refresh_token };
    const refreshed = await deskbell.call('POST', '/api/v1/auth/refresh', { body, headers: newAddress() });
    assertLimited(await me(deskbell, { token: refreshed.json.access_token }));
    assertLimited(await me(deskbell, { token: (await signInAs(deskbell, user)).access_token }));
  });

  it('all addresses of an IPv6 network share an allowance', async () => {
    const { 'x-forwarded-for': address } = newAddress();
    await useUp(deskbell, { headers: { 'x-forwarded-for': address } }, 401);
    assertLimited(await me(deskbell, { headers: { 'x-forwarded-for': address.replace('::1', '::2') } }));
  });

  it('without a token, each address has its own allowance', async () => {
    const address = newAddress();
    await useUp(deskbell, { headers: address }, 401);
    assertLimited(await me(deskbell, { headers: address }));
    assertError(await me(deskbell, { headers: newAddress() }), 401, 'INVALID_TOKEN');
  });

  it('forged and expired tokens count for their address', async () => {
    const address = newAddress();
    const [head, payload, signature] = (await signIn()).split('.') as [string, string, string];
    const forged = (count: number) => {
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
      const other = Buffer.from(JSON.stringify({ ...claims, jti: `${count}` })).toString('base64url');
      return `${head}.${other}.${signature}`;
    };
    for (let count = 0; count < PER_MINUTE; count += 1) {
      assertError(await me(deskbell, { token: forged(count), headers: address }), 401, 'INVALID_TOKEN');
    }
    assertLimited(await me(deskbell, { token: forged(99), headers: address }));
    assertLimited(await me(deskbell, { token: 'another', headers: address }));
    // A valid token is not limited by guesses from the same address.
    assert.equal((await me(deskbell, { token: await signIn(), headers: address })).status, 200);
  });

  it('signing in counts for the address, right or wrong', async () => {
    const headers = newAddress();
    const login = () => deskbell.call('POST', '/api/v1/auth/login', { body: BOREALIS, headers });
    for (let count = 0; count < PER_MINUTE; count += 1) assert.equal((await login()).status, 200);
    assertLimited(await login());
  });

  it('a path that does not exist counts like any other', async () => {
    const headers = newAddress();
    const first = await deskbell.call('GET', '/nowhere', { headers });
    assertError(first, 404, 'NOT_FOUND');
    assert.equal(remaining(first), PER_MINUTE - 1);
    assert.equal(remaining(await me(deskbell, { headers })), PER_MINUTE - 2);
  });

  it('monitoring is not counted', async () => {
    const headers = newAddress();
    for (const path of ['/healthz', '/readyz', '/metrics', '/.well-known/jwks.json']) {
      for (let count = 0; count <= PER_MINUTE; count += 1) {
        assert.equal((await deskbell.call('GET', path, { headers })).status, 200);
      }
    }
  });
});

onEachEngine('the general limit of a merchant', (engine) => {
  const settings = { ...SETTINGS, RATE_LIMIT_PER_MINUTE_PER_MERCHANT: String(PER_MERCHANT) };
  const deskbell = useDeskbell(engine, settings);
  const merchantOnly = useDeskbell(engine, { ...settings, RATE_LIMIT_PER_MINUTE: '0' });

  it('counts all its users together, and no other merchant', async () => {
    const [one, two] = [await newToken(deskbell), await newToken(deskbell)];
    await useUp(deskbell, { token: one }, 200);
    // What the user sends above the own limit takes nothing from the others.
    for (let n = 0; n < PER_MERCHANT; n += 1) assertLimited(await me(deskbell, { token: one }));
    for (let left = PER_MERCHANT - PER_MINUTE - 1; left >= 0; left -= 1) {
      const reply = await me(deskbell, { token: two });
      assert.equal(reply.status, 200);
      // The tighter limit of the two.
      assert.equal(remaining(reply), left);
      assert.equal(reply.headers.get('ratelimit-limit'), String(PER_MERCHANT));
    }
    assertLimited(await me(deskbell, { token: two }));
    assertLimited(await me(deskbell, { token: await newToken(deskbell) }));

    for (const other of [BOREALIS, OPERATOR]) {
      const { access_token: token } = await signInAs(deskbell, other);
      const reply = await me(deskbell, { token });
      assert.equal(reply.status, 200);
      assert.equal(remaining(reply), PER_MINUTE - 1);
      assert.equal(reply.headers.get('ratelimit-limit'), String(PER_MINUTE));
    }
  });

  it('holds without a limit per user', async () => {
    const { access_token: token } = await signInAs(merchantOnly, BOREALIS);
    for (let left = PER_MERCHANT - 1; left >= 0; left -= 1) {
      assert.equal(remaining(await me(merchantOnly, { token })), left);
    }
    assertLimited(await me(merchantOnly, { token }));
    assert.equal((await me(merchantOnly, {})).headers.get('ratelimit-limit'), null);
    const operator = await signInAs(merchantOnly, OPERATOR);
    assert.equal((await me(merchantOnly, { token: operator.access_token })).status, 200);
  });
});

onEachEngine('the setting of the general limit', (engine) => {
  const unlimited = useDeskbell(engine, { RATE_LIMIT_PER_MINUTE: '0' });
  const standard = useDeskbell(engine, { RATE_LIMIT_PER_MINUTE: '' });
  const direct = useDeskbell(engine, { RATE_LIMIT_PER_MINUTE: String(PER_MINUTE) });

  it('0 turns it off', async () => {
    const { status, headers } = await me(unlimited, { token: await unlimited.signIn() });
    assert.equal(status, 200);
    assert.equal(headers.get('ratelimit-limit'), null);
  });

  it('6,000 a minute is the default', async () => {
    const reply = await me(standard, {});
    assert.equal(reply.headers.get('ratelimit-limit'), '6000');
  });

  it('without TRUST_PROXY nobody gets a new allowance by sending another address in a header', async () => {
    for (let count = 0; count < PER_MINUTE; count += 1) await me(direct, { headers: newAddress() });
    assertLimited(await me(direct, { headers: newAddress() }));
  });
});

/** These tests need Redis. Without it the test runner prints a warning. */
function withRedis(title: string, url: string): void {
  onEachEngine(title, (engine) => {
    // Ids are the same in every test database, so each run has its own keys.
    const shared = { ...settings(url), TOKEN_ISSUER: `test-${randomUUID()}` };
    const [one, two] = [useDeskbell(engine, shared), useDeskbell(engine, shared)];

    /** If Redis takes half a second, the server skips it and sends no limit headers. Then the test starts again. */
    const withLimitHeaders = async (
      asking: (headers: Record<string, string>) => Promise<Reply[]>,
    ): Promise<Reply[]> => {
      for (let tries = 1; ; tries += 1) {
        const replies = await asking(newAddress());
        if (tries === 5 || replies.every(({ headers }) => headers.has('ratelimit-remaining'))) return replies;
      }
    };

    it('two servers that share a Redis share the limit', async () => {
      const replies = await withLimitHeaders(async (headers) => {
        const asked = [];
        for (let n = 0; n < PER_MINUTE + 2; n += 1) asked.push(await me(n % 2 ? one : two, { headers }));
        return asked;
      });
      for (let n = 0; n < PER_MINUTE; n += 1) assert.equal(remaining(replies[n]!), PER_MINUTE - 1 - n);
      for (const reply of replies.slice(PER_MINUTE)) assertLimited(reply);
    });

    it('two servers that share a Redis share the limits of a user and a merchant', async () => {
      /** Two users of a new merchant, with their tokens. */
      const newTeam = async (deskbell: Deskbell) => {
        const { database, clock } = deskbell;
        const { id: merchantId } = await insertMerchant(database, 'A shop', clock.now());
        const users = [await addUser(deskbell), await addUser(deskbell)];
        for (const { id } of users)
          await database.run('update users set merchant_id = $2 where id = $1', [id, merchantId]);
        const [first, second] = users.map(async (user) => (await signInAs(deskbell, user)).access_token);
        return {
          ids: [merchantId, ...users.map(({ id }) => id)],
          first: await first!,
          second: await second!,
        };
      };
      const replies = await withLimitHeaders(async () => {
        const teams = [await newTeam(two), await newTeam(one)] as const;
        // The second server has its own database, with the same ids.
        assert.deepEqual(teams[0].ids, teams[1].ids);
        const asked = [];
        for (let n = 0; n <= PER_MINUTE; n += 1)
          asked.push(await me(n % 2 ? one : two, { token: teams[n % 2]!.first }));
        for (let n = PER_MINUTE; n <= PER_MERCHANT; n += 1)
          asked.push(await me(n % 2 ? one : two, { token: teams[n % 2]!.second }));
        return asked;
      });
      const refused = replies.pop()!;
      assertLimited(refused);
      assert.equal(refused.headers.get('ratelimit-limit'), String(PER_MERCHANT));
      const [ofUser] = replies.splice(PER_MINUTE, 1);
      assertLimited(ofUser!);
      assert.deepEqual(
        replies.map(({ status }) => status),
        replies.map(() => 200),
      );
    });

    it('the service continues when Redis hangs or stops', async () => {
      const redis = await startRedis(findProgram('redis-server')!);
      const deskbell = await startDeskbell(engine, settings(redis.url));
      try {
        const [counted] = await withLimitHeaders(async (headers) => [await me(deskbell, { headers })]);
        assert.equal(remaining(counted!), PER_MINUTE - 1);
        const token = await deskbell.signIn();
        redis.process.kill('SIGSTOP');
        assert.equal((await me(deskbell, { token })).status, 200);
        await redis.stop();
        for (let count = 0; count <= PER_MINUTE; count += 1) {
          assert.equal((await me(deskbell, { token })).status, 200);
        }
        assert.ok(deskbell.logged.some((line) => line.includes('cannot use Redis')));
      } finally {
        await redis.stop();
        await deskbell.close();
      }
    });

    it('a Redis that refuses the script is logged once, and limits again when it works', async () => {
      const redis = await startRedis(findProgram('redis-server')!);
      const admin = new Redis(redis.url);
      const deskbell = await startDeskbell(engine, settings(redis.url));
      const warnings = () => deskbell.logged.filter((line) => line.includes('cannot use Redis'));
      try {
        await admin.config('SET', 'maxmemory', 1);
        const token = await deskbell.signIn();
        for (let count = 0; count <= PER_MINUTE; count += 1) {
          assert.equal((await me(deskbell, { token })).status, 200);
        }
        assert.equal(warnings().length, 1);
        assert.match(warnings()[0]!, /OOM/);
        await admin.config('SET', 'maxmemory', 0);
        const [counted] = await withLimitHeaders(async (headers) => [await me(deskbell, { headers })]);
        assert.equal(remaining(counted!), PER_MINUTE - 1);
      } finally {
        admin.disconnect();
        await redis.stop();
        await deskbell.close();
      }
    });

    it('the service starts and works while Redis cannot be reached', async () => {
      const deskbell = await startDeskbell(engine, settings(`redis://127.0.0.1:${await freePort()}`));
      try {
        const token = await deskbell.signIn();
        for (let count = 0; count <= PER_MINUTE; count += 1) {
          assert.equal((await me(deskbell, { token })).status, 200);
        }
      } finally {
        await deskbell.close();
      }
    });

    it('the service starts and works while Redis does not respond', async () => {
      const silent = createServer(() => {}).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      const deskbell = await startDeskbell(engine, settings(`redis://127.0.0.1:${port}`));
      try {
        assert.equal((await me(deskbell, { token: await deskbell.signIn() })).status, 200);
      } finally {
        await deskbell.close();
        silent.close();
      }
    });
  });
}
const settings = (url: string) => ({
  ...SETTINGS,
  RATE_LIMIT_PER_MINUTE_PER_MERCHANT: String(PER_MERCHANT),
  REDIS_URL: url,
});
if (redisUrl) withRedis('the general limit through Redis', redisUrl);
