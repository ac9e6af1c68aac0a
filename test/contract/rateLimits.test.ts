import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it, mock } from 'node:test';
import { findProgram, startRedis } from '../../scripts/services.ts';
import { readConfig } from '../../src/config.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { createKey } from '../support/machineKeys.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  type CallOptions,
  type Deskbell,
  login,
  type Reply,
  redisUrl,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

const PER_MINUTE = 5;
const PER_MERCHANT = 8;
const SETTINGS = {
  RATE_LIMIT_PER_MINUTE: String(PER_MINUTE),
  RATE_LIMIT_PER_MINUTE_PER_MERCHANT: '0',
  TRUST_PROXY: 'true',
};
const WITH_MERCHANTS = { ...SETTINGS, RATE_LIMIT_PER_MINUTE_PER_MERCHANT: String(PER_MERCHANT) };

/** The general limit counts for a minute, so each test uses its own addresses and users. */
let addresses = 0;
const newAddress = () => {
  addresses += 1;
  const ofProcess = (process.pid % 65_536).toString(16);
  return { 'x-forwarded-for': `2001:db8:${ofProcess}:${addresses.toString(16)}::1` };
};
const signInAs = async (deskbell: Deskbell, user: Pick<typeof BOREALIS, 'email' | 'password'>) =>
  (await login(deskbell, user, newAddress())).json.access_token as string;
const newToken = async (deskbell: Deskbell) => signInAs(deskbell, await addUser(deskbell));

const me = (deskbell: Deskbell, options: CallOptions) => deskbell.call('GET', '/api/v1/auth/me', options);
const remaining = ({ headers }: Reply) => Number(headers.get('ratelimit-remaining'));

async function useUp(deskbell: Deskbell, options: CallOptions, status: number): Promise<void> {
  for (let left = PER_MINUTE - 1; left >= 0; left -= 1) {
    const reply = await me(deskbell, options);
    assert.deepEqual([reply.status, remaining(reply)], [status, left], reply.text);
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

  it('is in every response; one request too many gets 429 with Retry-After, and is served after that time', async () => {
    const { headers } = await me(deskbell, { headers: newAddress() });
    assert.deepEqual([headers.get('ratelimit-limit'), headers.get('ratelimit-reset')], ['5', '60']);
    const token = await newToken(deskbell);
    await useUp(deskbell, { token }, 200);
    const refused = await me(deskbell, { token });
    assertLimited(refused);
    // The endpoints count together.
    assertLimited(await deskbell.call('POST', '/api/v1/notification/request', { token }));
    const realNow = Date.now.bind(Date);
    const waitedMs = Number(refused.headers.get('retry-after')) * 1000;
    mock.method(Date, 'now', () => realNow() + waitedMs);
    assert.equal((await me(deskbell, { token })).status, 200);
    assert.equal(readConfig({}).rateLimitPerMinute, 6000);
  });

  it('each user has one allowance, from any address and with any token', async () => {
    const user = await addUser(deskbell);
    const [one, again] = [await signInAs(deskbell, user), await signInAs(deskbell, user)];
    const headers = newAddress();
    await useUp(deskbell, { token: one, headers }, 200);
    assertLimited(await me(deskbell, { token: one, headers: newAddress() }));
    assertLimited(await me(deskbell, { token: again }));
    assert.equal((await me(deskbell, { token: await newToken(deskbell), headers })).status, 200);
  });

  it('each key of a program has an allowance of its own', async () => {
    const self = (token: string) => deskbell.call('GET', '/api/v1/keys/self', { token });
    const [one, other] = [await createKey(deskbell), await createKey(deskbell)];
    for (let left = PER_MINUTE - 1; left >= 0; left -= 1) assert.equal(remaining(await self(one)), left);
    assertLimited(await self(one));
    assert.equal(remaining(await self(other)), PER_MINUTE - 1);
  });

  it('forged and expired tokens count for their address', async () => {
    const headers = newAddress();
    const [head, payload = '', signature] = (await newToken(deskbell)).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const forged = (count: number) => {
      const other = Buffer.from(JSON.stringify({ ...claims, jti: `${count}` })).toString('base64url');
      return `${head}.${other}.${signature}`;
    };
    for (let count = 0; count < PER_MINUTE; count += 1)
      assertError(await me(deskbell, { token: forged(count), headers }), 401, 'INVALID_TOKEN');
    for (const token of [forged(99), 'another']) assertLimited(await me(deskbell, { token, headers }));
    // A valid token is not limited by guesses from the same address.
    assert.equal((await me(deskbell, { token: await newToken(deskbell), headers })).status, 200);
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
  const deskbell = useDeskbell('sqlite', WITH_MERCHANTS);

  it('counts all its users together, and no other merchant', async () => {
    const [one, two] = [await newToken(deskbell), await newToken(deskbell)];
    await useUp(deskbell, { token: one }, 200);
    // What the user sends above the own limit takes nothing from the others.
    for (let n = 0; n < PER_MERCHANT; n += 1) assertLimited(await me(deskbell, { token: one }));
    for (let left = PER_MERCHANT - PER_MINUTE - 1; left >= 0; left -= 1) {
      const reply = await me(deskbell, { token: two });
      // The tighter limit of the two.
      assert.deepEqual([reply.status, remaining(reply)], [200, left]);
      assert.equal(reply.headers.get('ratelimit-limit'), String(PER_MERCHANT));
    }
    for (const token of [two, await newToken(deskbell)]) assertLimited(await me(deskbell, { token }));
    const token = await signInAs(deskbell, BOREALIS);
    assert.equal(remaining(await me(deskbell, { token })), PER_MINUTE - 1);
  });
});

// These tests need Redis. Without it the test runner prints a warning.
describe('the general limit through Redis', { skip: redisUrl === undefined }, () => {
  // Ids are the same in every test database, so each run has its own keys.
  const shared = { ...WITH_MERCHANTS, REDIS_URL: redisUrl ?? '', TOKEN_ISSUER: `test-${randomUUID()}` };
  const [one, two] = redisUrl ? [useDeskbell('sqlite', shared), useDeskbell('sqlite', shared)] : [];

  /** If Redis takes half a second, the server skips it and sends no limit headers. Then the test starts again. */
  async function withLimitHeaders(asking: () => Promise<Reply[]>): Promise<Reply[]> {
    for (let tries = 1; ; tries += 1) {
      const replies = await asking();
      if (tries === 5 || replies.every(({ headers }) => headers.has('ratelimit-remaining'))) return replies;
    }
  }
  /** Two users of a new merchant. The other server has its own database, with the same ids. */
  async function newTeam(deskbell: Deskbell): Promise<[string, string]> {
    const { database, clock } = deskbell;
    const { id } = await insertMerchant(database, 'A shop', clock.now());
    const users = [await addUser(deskbell), await addUser(deskbell)] as const;
    for (const user of users)
      await database.run('update users set merchant_id = $2 where id = $1', [user.id, id]);
    return [await signInAs(deskbell, users[0]), await signInAs(deskbell, users[1])];
  }

  it('two servers that share a Redis share the limits of a user and a merchant', async () => {
    const replies = await withLimitHeaders(async () => {
      const teams = [await newTeam(one!), await newTeam(two!)];
      const asked = [];
      for (let n = 0; n <= PER_MERCHANT; n += 1) {
        const token = teams[n % 2]![n <= PER_MINUTE ? 0 : 1]!;
        asked.push(await me(n % 2 === 0 ? one! : two!, { token }));
      }
      // The last of the first user did not count for the merchant.
      return [...asked, await me(one!, { token: teams[0]![1] })];
    });
    const [ofMerchant, ofUser] = [replies.pop()!, replies.splice(PER_MINUTE, 1)[0]!];
    for (const refused of [ofUser, ofMerchant]) assertLimited(refused);
    assert.equal(ofMerchant.headers.get('ratelimit-limit'), String(PER_MERCHANT));
    for (const { status, text } of replies) assert.equal(status, 200, text);
  });

  it('without a Redis that responds nobody is limited, until it works again', async () => {
    const redis = await startRedis(findProgram('redis-server')!);
    const deskbell = await startDeskbell('sqlite', { ...WITH_MERCHANTS, REDIS_URL: redis.url });
    try {
      const token = await deskbell.signIn();
      redis.process.kill('SIGSTOP');
      for (let n = 0; n <= PER_MINUTE; n += 1) assert.equal((await me(deskbell, { token })).status, 200);
      redis.process.kill('SIGCONT');
      const isCounted = async () =>
        (await me(deskbell, { headers: newAddress() })).headers.has('ratelimit-remaining');
      await until('it counts again', isCounted);
      assert.match(deskbell.logged.join(''), /cannot use Redis/);
    } finally {
      await redis.stop();
      await deskbell.close();
    }
  });
});
