import type { MerchantId } from '../contract/ids.ts';
import { msLeft } from '../database/deadline.ts';
import { rateLimited } from '../errors.ts';

interface Turn {
  merchantId: MerchantId;
  sinceMs: number;
  /** Ends the list early. */
  interrupt: () => void;
}

interface Waiting {
  merchantId: MerchantId;
  start: (turn: Turn) => void;
}

/** Each open list has a database connection and about two pieces in memory. */
const LIMITS = {
  openMax: 8,
  openPerMerchantMax: 2,
  waitingPerMerchantMax: 16,
  waitMaxMs: 4000,
  /** A list that is open for this long ends when another merchant waits for its place. */
  undisturbedMs: 10_000,
  makeRoomEveryMs: 500,
};
/** What is left of the request's time for opening the list. */
const OPENING_MS = 500;
const RETRY_AFTER_SECONDS = 2;

/** Who may open a large list. The others wait, and after some time they are asked to come back later. */
export function createListTurns(limits = LIMITS) {
  const open = new Set<Turn>();
  const queue: Waiting[] = [];
  const openOf = (merchantId: MerchantId) =>
    [...open].filter((turn) => turn.merchantId === merchantId).length;
  const isFree = (merchantId: MerchantId) =>
    open.size < limits.openMax && openOf(merchantId) < limits.openPerMerchantMax;

  const begin = (merchantId: MerchantId): Turn => {
    const turn = { merchantId, sinceMs: performance.now(), interrupt: () => {} };
    open.add(turn);
    return turn;
  };

  /** Slow readers of a few merchants must not keep all others out. The oldest list comes first. */
  function makeRoomFor(merchantId: MerchantId): void {
    if (open.size < limits.openMax || openOf(merchantId) >= limits.openPerMerchantMax) return;
    const oldBefore = performance.now() - limits.undisturbedMs;
    const old = [...open].find((turn) => turn.merchantId !== merchantId && turn.sinceMs < oldBefore);
    old?.interrupt();
  }

  return {
    async take(merchantId: MerchantId): Promise<Turn> {
      if (isFree(merchantId)) return begin(merchantId);
      const waitingCount = queue.filter((waiting) => waiting.merchantId === merchantId).length;
      if (waitingCount >= limits.waitingPerMerchantMax) throw rateLimited(RETRY_AFTER_SECONDS);
      const { promise, resolve, reject } = Promise.withResolvers<Turn>();
      const waiting: Waiting = { merchantId, start: resolve };
      queue.push(waiting);
      makeRoomFor(merchantId);
      const check = setInterval(() => makeRoomFor(merchantId), limits.makeRoomEveryMs);
      const timer = setTimeout(
        () => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(rateLimited(RETRY_AFTER_SECONDS));
        },
        Math.max(0, Math.min(limits.waitMaxMs, msLeft() - OPENING_MS)),
      );
      return promise.finally(() => {
        clearInterval(check);
        clearTimeout(timer);
      });
    },

    end(turn: Turn): void {
      if (!open.delete(turn)) return;
      const next = queue.findIndex((waiting) => isFree(waiting.merchantId));
      if (next < 0) return;
      const [waiting] = queue.splice(next, 1);
      waiting!.start(begin(waiting!.merchantId));
    },
  };
}
