import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, it, mock } from 'node:test';
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

describe('the general limit', () => {
  const deskbell = useDeskbell('sqlite', SETTINGS);
  afterEach(() => mock.restoreAll());

  const signIn = () => newToken(deskbell);

  it('is in every response; one request too many gets 429 with Retry-After, and is served after that time', async () => {
    const token = await signIn();
    const { headers } = await me(deskbell, { headers: newAddress() });
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'];
    assert.deepEqual(
      names.map((name) => headers.get(name)),
      [String(PER_MINUTE), String(PER_MINUTE - 1), '60', null],
    );
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
    const paths = ['/api/v1/notification/', '/api/v1/auth/me', '/openapi.json', '/nowhere'];
    for (const [index, path] of paths.entries()) {
      assert.equal(remaining(await deskbell.call('GET', path, { token })), PER_MINUTE - 1 - index);
    }
    assert.equal((await deskbell.call('POST', '/api/v1/notification/request', { token })).status, 500);
    assertLimited(await deskbell.call('POST', '/api/v1/notification/request', { token }));
  });

  it('each user has one allowance, from any address and with any token', async () => {
    const user = await addUser(deskbell);
    const [one, again, two] = [
      await signInAs(deskbell, user),
      await signInAs(deskbell, user),
      await signIn(),
    ];
    const headers = newAddress();
    await useUp(deskbell, { token: one.access_token, headers }, 200);
    assertLimited(await me(deskbell, { token: one.access_token, headers: newAddress() }));
    assertLimited(await me(deskbell, { token: again.access_token }));
    assert.equal((await me(deskbell, { token: two, headers })).status, 200);
  });

  it('without a token, each address has its own allowance, and all of an IPv6 network share one', async () => {
    const { 'x-forwarded-for': address } = newAddress();
    await useUp(deskbell, { headers: { 'x-forwarded-for': address } }, 401);
    assertLimited(await me(deskbell, { headers: { 'x-forwarded-for': address.replace('::1', '::2') } }));
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

  it('signing in counts for the address, but monitoring is not counted', async () => {
    const headers = newAddress();
    for (let count = 0; count < PER_MINUTE; count += 1)
      assert.equal((await login(deskbell, BOREALIS, headers)).status, 200);
    assertLimited(await login(deskbell, BOREALIS, headers));
    for (const path of ['/healthz', '/readyz', '/metrics', '/.well-known/jwks.json'])
      assert.equal((await deskbell.call('GET', path, { headers })).status, 200);
  });
});

describe('the general limit of a merchant', () => {
  const settings = { ...SETTINGS, RATE_LIMIT_PER_MINUTE_PER_MERCHANT: String(PER_MERCHANT) };
  const deskbell = useDeskbell('sqlite', settings);
  const merchantOnly = useDeskbell('sqlite', { ...settings, RATE_LIMIT_PER_MINUTE: '0' });

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

describe('the setting of the general limit', () => {
  it('is 6,000 a minute by default; without TRUST_PROXY an address in a header is not believed', async () => {
    const deskbell = await startDeskbell('sqlite', { RATE_LIMIT_PER_MINUTE: '' });
    try {
      for (const left of [5999, 5998]) {
        const reply = await me(deskbell, { headers: newAddress() });
        assert.deepEqual([reply.headers.get('ratelimit-limit'), remaining(reply)], ['6000', left]);
      }
    } finally {
      await deskbell.close();
    }
  });
});

/** These tests need Redis. Without it the test runner prints a warning. */
function withRedis(title: string, url: string): void {
  describe(title, () => {
    // Ids are the same in every test database, so each run has its own keys.
    const shared = { ...settings(url), TOKEN_ISSUER: `test-${randomUUID()}` };
    const [one, two] = [useDeskbell('sqlite', shared), useDeskbell('sqlite', shared)];

    /** If Redis takes half a second, the server skips it and sends no limit headers. Then the test starts again. */
    const withLimitHeaders = async (
      asking: (headers: Record<string, string>) => Promise<Reply[]>,
    ): Promise<Reply[]> => {
      for (let tries = 1; ; tries += 1) {
        const replies = await asking(newAddress());
        if (tries === 5 || replies.every(({ headers }) => headers.has('ratelimit-remaining'))) return replies;
      }
    };

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

    it('without a Redis that takes the script, responds or runs, nobody is limited, until it works again', async () => {
      const redis = await startRedis(findProgram('redis-server')!);
      const admin = new Redis(redis.url);
      const deskbell = await startDeskbell('sqlite', settings(redis.url));
      const warnings = () => deskbell.logged.filter((line) => line.includes('cannot use Redis'));
      try {
        const token = await deskbell.signIn();
        const ask = async (times: number) => {
          for (let n = 0; n < times; n += 1) assert.equal((await me(deskbell, { token })).status, 200);
        };
        await admin.config('SET', 'maxmemory', 1);
        await ask(PER_MINUTE + 1);
        assert.equal(warnings().length, 1);
        assert.match(warnings()[0]!, /OOM/);
        await admin.config('SET', 'maxmemory', 0);
        const [counted] = await withLimitHeaders(async (headers) => [await me(deskbell, { headers })]);
        assert.equal(remaining(counted!), PER_MINUTE - 1);
        redis.process.kill('SIGSTOP');
        await ask(1);
        await redis.stop();
        await ask(PER_MINUTE + 1);
      } finally {
        admin.disconnect();
        await redis.stop();
        await deskbell.close();
      }
    });

    it('the service starts and works while Redis cannot be reached, or does not respond', async () => {
      const silent = createServer(() => {}).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      for (const port of [await freePort(), (silent.address() as AddressInfo).port]) {
        const deskbell = await startDeskbell('sqlite', settings(`redis://127.0.0.1:${port}`));
        const token = await deskbell.signIn();
        const replies = [await me(deskbell, { token }), await me(deskbell, { token })];
        await deskbell.close();
        for (const { status } of replies) assert.equal(status, 200);
      }
      silent.close();
    });
  });
}
const settings = (url: string) => ({
  ...SETTINGS,
  RATE_LIMIT_PER_MINUTE_PER_MERCHANT: String(PER_MERCHANT),
  REDIS_URL: url,
});
if (redisUrl) withRedis('the general limit through Redis', redisUrl);
