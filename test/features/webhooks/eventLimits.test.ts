import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../../scripts/services.ts';
import { EVENTS, type Listener, listen } from '../../support/listening.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  redisUrl,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';

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

/** The server notices a closed stream a moment later. */
async function openSoon(deskbell: Deskbell, token: string): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; ; await sleep(20)) {
    const opening = open(deskbell, token);
    if (Date.now() > giveUpAt) return void (await opening);
    if (await opening.then(() => true).catch(() => false)) return;
  }
}

async function assertRefused(
  deskbell: Deskbell,
  token: string,
  whose: 'user or key' | 'merchant',
  max: number,
) {
  const response = await fetch(deskbell.url + EVENTS, { headers: { authorization: `Bearer ${token}` } });
  const { status, headers } = response;
  // An accepted stream does not end.
  if (status === 200) await response.body?.cancel();
  assert.equal(status, 429);
  const text = await response.text();
  const reply = { status, headers, text, json: JSON.parse(text) };
  assertError(reply, 429, 'RATE_LIMITED');
  assert.equal(headers.get('retry-after'), '10');
  assert.match(reply.json.detail, new RegExp(`^This ${whose} has ${max} open event streams`));
}

describe('the limits of event streams', () => {
  const deskbell = useDeskbell('sqlite', SETTINGS);
  afterEach(closeAll);

  it('a user may open so many, with any token; a closed one makes room', async () => {
    const tokens = [await deskbell.signIn(), await deskbell.signIn()];
    const [first] = [await open(deskbell, tokens[0]!), await open(deskbell, tokens[0]!)];
    for (const token of tokens) await assertRefused(deskbell, token, 'user or key', PER_USER);
    first.stop();
    await openSoon(deskbell, tokens[1]!);
    await assertRefused(deskbell, tokens[0]!, 'user or key', PER_USER);
  });

  it('all users of a merchant together may open so many, and other merchants have their own', async () => {
    const user = await addUser(deskbell);
    const [one, two] = [await deskbell.signIn(), await deskbell.signIn(user.email)];
    for (let n = 0; n < PER_USER; n += 1) await openSoon(deskbell, one);
    for (let n = PER_USER; n < PER_MERCHANT; n += 1) await openSoon(deskbell, two);
    await assertRefused(deskbell, two, 'merchant', PER_MERCHANT);
    await open(deskbell, await deskbell.signIn(BOREALIS.email, BOREALIS.password));
  });

  it('many at the same time do not get around the limit', async () => {
    const user = await addUser(deskbell);
    await openSoon(deskbell, await deskbell.signIn(user.email));
    closeAll();
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => open(deskbell, token)));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, PER_USER);
  });

  it('0 turns them off', async () => {
    const unlimited = await startDeskbell('sqlite', {
      EVENT_STREAMS_PER_USER: '0',
      EVENT_STREAMS_PER_MERCHANT: '0',
    });
    try {
      const token = await unlimited.signIn();
      await Promise.all(Array.from({ length: 25 }, () => open(unlimited, token)));
      closeAll();
    } finally {
      await unlimited.close();
    }
  });

  it('hold in each process while Redis cannot be reached', async () => {
    const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
    const alone = await startDeskbell('sqlite', { ...SETTINGS, REDIS_URL });
    try {
      const token = await alone.signIn();
      for (let n = 0; n < PER_USER; n += 1) await open(alone, token);
      await assertRefused(alone, token, 'user or key', PER_USER);
      closeAll();
    } finally {
      await alone.close();
    }
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
      await assertRefused(one, here, 'user or key', PER_USER);
      await assertRefused(two, there, 'user or key', PER_USER);
      const [mine, theirs] = [await addUser(one), await addUser(two)];
      await open(two, await two.signIn(theirs.email, AURORA.password));
      await assertRefused(one, await one.signIn(mine.email), 'merchant', PER_MERCHANT);
      first.stop();
      await openSoon(two, there);
    });

    it('a process that was killed counts for at most a minute', async () => {
      const redis = new Redis(url);
      try {
        const keys = [`${issuer}:streams:user:2`, `${issuer}:streams:merchant:2`] as const;
        for (const key of keys) await redis.zadd(key, 1, 'dead', 1, 'dead too');
        const token = await one.signIn(BOREALIS.email, BOREALIS.password);
        for (let n = 0; n < PER_USER; n += 1) await open(one, token);
        for (const key of keys) {
          assert.equal(await redis.zcard(key), PER_USER);
          const leftMs = await redis.pttl(key);
          assert.ok(leftMs > 0 && leftMs <= 60_000, `${leftMs} ms`);
          const leases = await redis.zrange(key, '0', '-1', 'WITHSCORES');
          for (const until of leases.filter((_, index) => index % 2 === 1)) {
            assert.ok(Number(until) <= Date.now() + 60_000, until);
          }
        }
      } finally {
        redis.disconnect();
      }
    });
  });
}
if (redisUrl) withRedis(redisUrl);
