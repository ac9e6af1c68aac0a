import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { EVENTS, type Listener, listen } from '../../support/listening.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, BOREALIS, type Deskbell, redisUrl, useDeskbell } from '../../support/server.ts';

const PER_USER = 2;
const PER_MERCHANT = 3;
const SETTINGS = {
  EVENT_STREAMS_PER_USER: String(PER_USER),
  EVENT_STREAMS_PER_MERCHANT: String(PER_MERCHANT),
};

const opened: Listener[] = [];
const closeAll = () => {
  for (const listener of opened.splice(0)) listener.stop();
};

async function open(deskbell: Deskbell, token: string): Promise<Listener> {
  const listener = await listen(deskbell, token);
  opened.push(listener);
  return listener;
}
const openAll = (deskbell: Deskbell, token: string, count = PER_USER) =>
  Promise.all(Array.from({ length: count }, () => open(deskbell, token)));

/** The server notices a closed stream a moment later. */
async function openSoon(deskbell: Deskbell, token: string): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; ; await sleep(20)) {
    const opening = open(deskbell, token);
    if (Date.now() > giveUpAt) return void (await opening);
    if (await opening.then(() => true).catch(() => false)) return;
  }
}

async function assertRefused(deskbell: Deskbell, token: string, whose: 'user or key' | 'merchant') {
  const response = await fetch(deskbell.url + EVENTS, { headers: { authorization: `Bearer ${token}` } });
  const { status, headers } = response;
  // An accepted stream does not end.
  if (status === 200) await response.body?.cancel();
  assert.equal(status, 429);
  const text = await response.text();
  assertError({ status, headers, text, json: JSON.parse(text) }, 429, 'RATE_LIMITED');
  assert.equal(headers.get('retry-after'), '10');
  const max = whose === 'merchant' ? PER_MERCHANT : PER_USER;
  assert.match(text, new RegExp(`This ${whose} has ${max} open event streams`));
}

describe('the limits of event streams', () => {
  const shop = useMerchant('sqlite', SETTINGS);
  const other = useMerchant('sqlite', SETTINGS);
  const unlimited = useMerchant('sqlite', { EVENT_STREAMS_PER_USER: '0', EVENT_STREAMS_PER_MERCHANT: '0' });
  afterEach(closeAll);
  const newTokenOf = ({ deskbell, owner }: Merchant) => deskbell.signIn(owner.email, owner.password);

  it('a user may open so many, with any token; a closed one makes room', async () => {
    const { deskbell } = shop;
    const [token, second] = [await newTokenOf(shop), await newTokenOf(shop)];
    const [first] = await openAll(deskbell, token);
    for (const one of [token, second]) await assertRefused(deskbell, one, 'user or key');
    first!.stop();
    await openSoon(deskbell, second);
    await assertRefused(deskbell, token, 'user or key');
  });

  it('all users of a merchant together may open so many, and other merchants have their own', async () => {
    const { token } = await shop.colleague();
    for (let n = 0; n < PER_USER; n += 1) await openSoon(shop.deskbell, await shop.token());
    await openSoon(shop.deskbell, token);
    await assertRefused(shop.deskbell, token, 'merchant');
    await open(other.deskbell, await newTokenOf(other));
  });

  it('many at the same time do not get around the limit, and 0 turns it off', async () => {
    const { token } = await other.colleague();
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => open(other.deskbell, token)));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, PER_USER);
    await openAll(unlimited.deskbell, await unlimited.token(), 25);
  });
});

describe('the limits of event streams while Redis cannot be reached', () => {
  const shop = useMerchant('sqlite', { ...SETTINGS, REDIS_URL: 'redis://127.0.0.1:1' });
  afterEach(closeAll);

  it('hold in each process', async () => {
    await openAll(shop.deskbell, await shop.token());
    await assertRefused(shop.deskbell, await shop.token(), 'user or key');
  });
});

/** Needs Redis. Without it the test runner prints a warning. */
function withRedis(url: string): void {
  describe('the limits of event streams through Redis', () => {
    // The servers have separate databases with the same ids, and share the keys.
    const issuer = `test-${randomUUID()}`;
    const settings = { ...SETTINGS, REDIS_URL: url, TOKEN_ISSUER: issuer };
    const [one, two] = [useDeskbell('sqlite', settings), useDeskbell('sqlite', settings)];
    afterEach(closeAll);

    it('two servers share the limits', async () => {
      const [here, there] = [await one.signIn(), await two.signIn()];
      const [first] = [await open(one, here), await open(two, there)];
      await assertRefused(one, here, 'user or key');
      await assertRefused(two, there, 'user or key');
      first.stop();
      await openSoon(two, there);
    });

    it('a process that was killed counts for at most a minute', async () => {
      const redis = new Redis(url);
      try {
        const keys = [`${issuer}:streams:user:2`, `${issuer}:streams:merchant:2`] as const;
        for (const key of keys) await redis.zadd(key, 1, 'dead', 1, 'dead too');
        await openAll(one, await one.signIn(BOREALIS.email, BOREALIS.password));
        for (const key of keys) {
          assert.equal(await redis.zcard(key), PER_USER);
          const leftMs = await redis.pttl(key);
          assert.ok(leftMs > 0 && leftMs <= 60_000, `${leftMs} ms`);
          const leases = await redis.zrange(key, '0', '-1', 'WITHSCORES');
          for (const until of leases.filter((_, index) => index % 2 === 1))
            assert.ok(Number(until) <= Date.now() + 60_000, until);
        }
      } finally {
        redis.disconnect();
      }
    });
  });
}
if (redisUrl) withRedis(redisUrl);
