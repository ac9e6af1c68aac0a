import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../contract/ids.ts';
import { type LimitOwner, tooManyStreams, tooManyWaits } from '../errors.ts';
import type { RunScript } from '../http/limits/redis.ts';
import type { WaitLimits } from './wait.ts';

export interface StreamLimitParts {
  /** 0 turns a limit off. */
  eventStreamsPerUser: number;
  eventStreamsPerMerchant: number;
  /** Counts for all processes together. */
  runScript: RunScript | undefined;
  onChange: OnChange;
}

/** Called with each stream or request more, and each less. */
type OnChange = (change: 1 | -1) => void;

/** Counts the open event streams of each user or key, and of each merchant. */
export interface StreamLimits {
  /** Counts one more stream, or throws if there are too many. Call the result when the stream has ended. */
  enter(merchantId: MerchantId, callerId: string): Promise<() => void>;
  close(): void;
}

const RETRY_STREAM_AFTER_SECONDS = 10;
/** Shorter than for streams: until then the client can only poll. */
const RETRY_WAIT_AFTER_SECONDS = 5;
/** A process that was killed ends no streams. In Redis they stop counting after this time. */
const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 20_000;

/** Returns 0, or the number of the first key that has no place left. A limit of 0 only renews the lease. */
const ENTER_SCRIPT = `
  local time = redis.call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  for index, key in ipairs(KEYS) do
    redis.call('zremrangebyscore', key, '-inf', now)
    local max = tonumber(ARGV[2 + index])
    if max > 0 and redis.call('zcard', key) >= max then return index end
  end
  for _, key in ipairs(KEYS) do
    redis.call('zadd', key, now + ARGV[2], ARGV[1])
    redis.call('pexpire', key, ARGV[2])
  end
  return 0`;
const LEAVE_SCRIPT = `for _, key in ipairs(KEYS) do redis.call('zrem', key, ARGV[1]) end`;

export function createStreamLimits(parts: StreamLimitParts): StreamLimits {
  const { eventStreamsPerUser: perUser, eventStreamsPerMerchant: perMerchant, runScript } = parts;
  const isFull = (whose: LimitOwner) =>
    tooManyStreams(whose, whose === 'merchant' ? perMerchant : perUser, RETRY_STREAM_AFTER_SECONDS);
  const enterHere = createCounts(perUser, perMerchant, parts.onChange);
  /** The streams of this process in Redis: their id, and the keys that count them. */
  const leases = new Map<string, readonly string[]>();
  const renewing = setInterval(() => {
    for (const [id, keys] of leases) void runScript?.(ENTER_SCRIPT, keys, [id, LEASE_MS, 0, 0]);
  }, RENEW_EVERY_MS).unref();

  return {
    async enter(merchantId, callerId) {
      // This process counts too: these limits hold while Redis does not respond.
      const leave = enterHere(merchantId, callerId);
      if (typeof leave === 'string') throw isFull(leave);
      if (!runScript) return leave;

      const id = randomUUID();
      const leaseKeys = [`streams:${callerId}`, `streams:${merchantKey(merchantId)}`];
      const full = await runScript(ENTER_SCRIPT, leaseKeys, [id, LEASE_MS, perUser, perMerchant]);
      if (full) {
        leave();
        throw isFull(full === 1 ? 'user or key' : 'merchant');
      }
      leases.set(id, leaseKeys);
      return () => {
        leave();
        leases.delete(id);
        void runScript(LEAVE_SCRIPT, leaseKeys, [id]);
      };
    },
    close: () => clearInterval(renewing),
  };
}

/** They are limited because of this process's memory, so each process counts its own. */
export function createWaitLimits(limits: {
  waitingRequestsPerUser: number;
  waitingRequestsPerMerchant: number;
  onChange: OnChange;
}): WaitLimits {
  const { waitingRequestsPerUser: perUser, waitingRequestsPerMerchant: perMerchant } = limits;
  const enter = createCounts(perUser, perMerchant, limits.onChange);
  return {
    enter(merchantId, callerId) {
      const leave = enter(merchantId, callerId);
      if (typeof leave !== 'string') return leave;
      return tooManyWaits(leave, leave === 'merchant' ? perMerchant : perUser, RETRY_WAIT_AFTER_SECONDS);
    },
  };
}

const merchantKey = (merchantId: MerchantId) => `merchant:${merchantId}`;

/** Counts in this process. Returns whose limit is reached, or a function that ends what was counted. */
function createCounts(perUser: number, perMerchant: number, onChange: OnChange) {
  const open = new Map<string, number>();
  const add = (key: string, change: number) => {
    const count = (open.get(key) ?? 0) + change;
    if (count === 0) open.delete(key);
    else open.set(key, count);
  };
  const isFull = (key: string, max: number) => max > 0 && (open.get(key) ?? 0) >= max;
  return (merchantId: MerchantId, callerId: string): (() => void) | LimitOwner => {
    const keys = [callerId, merchantKey(merchantId)] as const;
    if (isFull(keys[0], perUser)) return 'user or key';
    if (isFull(keys[1], perMerchant)) return 'merchant';
    const change = (by: 1 | -1) => {
      for (const key of keys) add(key, by);
      onChange(by);
    };
    change(1);
    return () => change(-1);
  };
}
