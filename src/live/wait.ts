import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, merchantOf, revoked, type WatchRevoked } from '../auth/guard.ts';
import type { Machine } from '../auth/tokens.ts';
import type { MerchantId } from '../contract/ids.ts';
import { WAIT_MAX_SECONDS } from '../contract/live.ts';
import { liftDeadline } from '../database/deadline.ts';
import { type ApiError, invalid } from '../errors.ts';

export const waitInvalid = () =>
  invalid('wait', `wait must be a whole number of seconds from 0 to ${WAIT_MAX_SECONDS}`);

/** The parameter `wait` of a request. */
export function readWait({ query }: FastifyRequest): number {
  const { wait = '0' } = query as { wait?: unknown };
  const seconds = typeof wait === 'string' && /^\d{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  if (!(seconds <= WAIT_MAX_SECONDS)) throw waitInvalid();
  return seconds;
}

/** What is due may be written a moment later. */
const READ_EVERY_MIN_MS = 20;

/** Counts the requests of each user or key, and of each merchant, that wait in this process. */
export interface WaitLimits {
  /** Counts one more, or returns why there are too many. Call the result when it has ended. */
  enter(merchantId: MerchantId, callerId: string): (() => void) | ApiError;
}

export interface Wait<T> {
  request: FastifyRequest;
  reply: FastifyReply;
  seconds: number;
  /** A short read: no database connection is held between two of them. */
  read: () => Promise<T>;
  isDone: (result: T) => boolean;
  /** Calls back when there may be something new to read, or a last time when the server stops. Call the result to stop. */
  subscribe: (onChange: (isLast?: boolean) => void) => Promise<() => void>;
  limits: WaitLimits;
  /** Too many requests wait: a read is refused. A write has happened, so it returns what was read. */
  whenFull: 'refuse' | 'return';
  revocations: WatchRevoked;
  now: () => Date;
  /** In how many milliseconds to read again in any case. */
  readInMs?: (result: T) => number | undefined;
}

/**
 * Reads, and if there is nothing yet, waits for a change and reads again, until the time is over, the client has gone or
 * its key or session was revoked.
 */
export async function waitFor<T>(wait: Wait<T>): Promise<T> {
  const { request, reply, seconds, read, isDone } = wait;
  let result = await read();
  if (seconds === 0 || isDone(result)) return result;
  // The client may have gone during the read. Waiting for nobody would take a place from others.
  if (reply.raw.destroyed || request.raw.errored || request.raw.socket.destroyed) return result;
  const caller = callerOf(request);
  const leave = wait.limits.enter(merchantOf(request), caller.callerId);
  if (leave instanceof Error) {
    if (wait.whenFull === 'return') return result;
    throw leave;
  }
  // From here on the request waits for a person.
  liftDeadline();
  const expiresInMs =
    caller.kind === 'key' ? expiryOf(caller) - wait.now().getTime() : Number.POSITIVE_INFINITY;
  const endsAtMs = performance.now() + Math.min(seconds * 1000, expiresInMs);
  let isOver = false;
  let isRevoked = false;
  let hasChanged = false;
  let wake = () => {};
  const changed = (isLast = false) => {
    hasChanged = true;
    isOver ||= isLast;
    wake();
  };
  const over = () => {
    isOver = true;
    wake();
  };
  // Not of the socket: several requests may wait on one.
  reply.raw.once('close', over);
  const unwatch = wait.revocations.watch(caller, () => {
    isRevoked = true;
    over();
  });
  let unsubscribe = () => {};
  try {
    unsubscribe = await wait.subscribe(changed);
    // Something may have changed before the subscription.
    result = await read();
    while (!isDone(result) && !isOver) {
      const leftMs = endsAtMs - performance.now();
      if (leftMs <= 0) break;
      const inMs = Math.min(leftMs, Math.max(wait.readInMs?.(result) ?? leftMs, READ_EVERY_MIN_MS));
      if (!hasChanged) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, inMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasChanged = false;
      if (!isOver) result = await read();
    }
    if (isRevoked) throw revoked(caller);
    return result;
  } finally {
    reply.raw.off('close', over);
    request.raw.off('error', over);
    unwatch();
    unsubscribe();
    leave();
  }
}

/** When a key ends. What caches it says is only when to look again. */
const expiryOf = ({ expiresAt }: Machine): number =>
  expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
