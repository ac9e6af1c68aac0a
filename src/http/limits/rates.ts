import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rateLimited } from '../../errors.ts';
import { addressGroup } from '../address.ts';
import type { RunScript } from './redis.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests to this route are not counted. */
    skipRateLimit?: boolean;
  }
}

const WINDOW_MS = 60_000;
/** Windows in this process at a time. Above that, the oldest one is dropped. */
const WINDOWS_MAX = 20_000;

interface RequestLimits {
  /** Per user, or per address without a token. 0 turns it off. */
  perMinute: number;
  /** For all users of a merchant together. 0 turns it off. */
  perMinutePerMerchant: number;
  /** Counts for all processes together. */
  runScript: RunScript | undefined;
}

/** What one key may send in a minute. */
interface Allowance {
  key: string;
  perMinute: number;
}

interface Window {
  perMinute: number;
  count: number;
  endsAtMs: number;
}

/** The window with the fewest requests left. Undefined if there is no limit, or if Redis does not respond. */
type Count = (allowances: readonly Allowance[]) => Window | undefined | Promise<Window | undefined>;

/**
 * The general rate limit: per user and per merchant, otherwise per address. A new token gives no new allowance, and
 * neither does a forged one: it counts for its address.
 */
export function limitRequests(app: FastifyInstance, limits: RequestLimits): void {
  const { perMinute, perMinutePerMerchant, runScript } = limits;
  if (perMinute === 0 && perMinutePerMerchant === 0) return;
  const count = runScript === undefined ? countHere() : countInRedis(runScript);

  const allowancesOf = (request: FastifyRequest): readonly Allowance[] => {
    const own = { key: callerKey(request), perMinute };
    const { caller } = request;
    const merchantId = caller instanceof Error ? undefined : caller?.merchantId;
    return merchantId === undefined
      ? [own]
      : [own, { key: `merchant:${merchantId}`, perMinute: perMinutePerMerchant }];
  };

  app.addHook('onRequest', (request, reply, done) => {
    // A call within this process has no connection: it is part of a request that was counted (src/mcp).
    const isInner = !(request.raw.socket instanceof Socket);
    if (isInner || request.routeOptions.config.skipRateLimit) return done();
    const check = (window: Window | undefined) => {
      if (!window) return done();
      const seconds = Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / 1000));
      reply.header('ratelimit-limit', window.perMinute);
      reply.header('ratelimit-remaining', Math.max(0, leftIn(window)));
      reply.header('ratelimit-reset', seconds);
      if (leftIn(window) < 0) done(rateLimited(seconds));
      else done();
    };
    const window = count(allowancesOf(request));
    if (window instanceof Promise) window.then(check, done);
    else check(window);
  });
}

const leftIn = ({ perMinute, count }: Window): number => perMinute - count;

const callerKey = ({ caller, ip }: FastifyRequest): string =>
  caller === undefined || caller instanceof Error ? `address:${addressGroup(ip)}` : caller.callerId;

/** Synchronous, because it runs for every request. */
function countHere(): Count {
  const windows = new Map<string, Window>();
  const countOne = ({ key, perMinute }: Allowance): Window => {
    const nowMs = Date.now();
    let window = windows.get(key);
    if (!window || window.endsAtMs <= nowMs) {
      // Delete before set: the first entry of the map is then always the oldest window.
      windows.delete(!window && windows.size >= WINDOWS_MAX ? windows.keys().next().value! : key);
      window = { perMinute, count: 0, endsAtMs: nowMs + WINDOW_MS };
      windows.set(key, window);
    }
    window.count += 1;
    return window;
  };
  return (allowances) => {
    let tightest: Window | undefined;
    for (const allowance of allowances) {
      if (allowance.perMinute === 0) continue;
      const window = countOne(allowance);
      if (!tightest || leftIn(window) < leftIn(tightest)) tightest = window;
      // A refused request does not count for the merchant: one user must not use up the others' allowance.
      if (leftIn(window) < 0) break;
    }
    return tightest;
  };
}

/** One script for all counters, so that each gets an expiry. It stops at the first one that is used up, as above. */
const COUNT_SCRIPT = `
  local counted = {}
  for index, key in ipairs(KEYS) do
    local count = redis.call('incr', key)
    if count == 1 then redis.call('pexpire', key, ARGV[1]) end
    table.insert(counted, count)
    table.insert(counted, redis.call('pttl', key))
    if count > tonumber(ARGV[1 + index]) then break end
  end
  return counted`;

function countInRedis(runScript: RunScript): Count {
  return async (allowances) => {
    const limited = allowances.filter(({ perMinute }) => perMinute > 0);
    if (limited.length === 0) return undefined;
    const keys = limited.map(({ key }) => `rate:${key}`);
    const limits = limited.map(({ perMinute }) => perMinute);
    const counted = (await runScript(COUNT_SCRIPT, keys, [WINDOW_MS, ...limits])) as number[] | undefined;
    if (!counted) return undefined;
    const windows = limits.slice(0, counted.length / 2).map((perMinute, index) => ({
      perMinute,
      count: counted[2 * index]!,
      endsAtMs: Date.now() + counted[2 * index + 1]!,
    }));
    return windows.reduce((one, other) => (leftIn(other) < leftIn(one) ? other : one));
  };
}
