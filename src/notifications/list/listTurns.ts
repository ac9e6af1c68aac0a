import type { MerchantId } from '../../contract/ids.ts';
import { msLeft } from '../../database/deadline.ts';
import { rateLimited } from '../../errors.ts';

/** Who reads a large list. */
export interface Reader {
  merchantId: MerchantId;
  callerId: string;
}

interface Turn {
  reader: Reader;
  sinceMs: number;
  /** Ends the list early. */
  interrupt: () => void;
}

interface Waiting {
  reader: Reader;
  start: (turn: Turn) => void;
}

/** Each open list has a database connection and about two pieces in memory. */
const LIMITS = {
  openMax: 8,
  openPerMerchantMax: 4,
  openPerUserMax: 2,
  waitingPerUserMax: 16,
  waitMaxMs: 4000,
  /** A list that is open for this long ends when somebody waits for its place who has none. */
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
  const openOfMerchant = ({ merchantId }: Reader) =>
    [...open].filter(({ reader }) => reader.merchantId === merchantId).length;
  const openOfUser = ({ callerId }: Reader) =>
    [...open].filter(({ reader }) => reader.callerId === callerId).length;
  const isFree = (reader: Reader) =>
    open.size < limits.openMax &&
    openOfMerchant(reader) < limits.openPerMerchantMax &&
    openOfUser(reader) < limits.openPerUserMax;

  const begin = (reader: Reader): Turn => {
    const turn = { reader, sinceMs: performance.now(), interrupt: () => {} };
    open.add(turn);
    return turn;
  };

  /** Slow readers must not keep out those who read nothing: neither other merchants nor their own colleagues. */
  function makeRoomFor(reader: Reader): void {
    if (isFree(reader) || openOfUser(reader) > 0) return;
    const isFull = open.size >= limits.openMax;
    const oldBefore = performance.now() - limits.undisturbedMs;
    const old = [...open].find(
      (turn) => turn.sinceMs < oldBefore && (isFull || turn.reader.merchantId === reader.merchantId),
    );
    old?.interrupt();
  }

  /** First who has the fewest: one with many waiting requests must not get every place that becomes free. */
  function startNext(): void {
    const share = ({ reader }: Waiting) => openOfMerchant(reader) * limits.openMax + openOfUser(reader);
    const [next] = queue.filter(({ reader }) => isFree(reader)).sort((a, b) => share(a) - share(b));
    if (!next) return;
    queue.splice(queue.indexOf(next), 1);
    next.start(begin(next.reader));
  }

  return {
    async take(reader: Reader): Promise<Turn> {
      if (isFree(reader)) return begin(reader);
      const waitingCount = queue.filter((waiting) => waiting.reader.callerId === reader.callerId).length;
      if (waitingCount >= limits.waitingPerUserMax) throw rateLimited(RETRY_AFTER_SECONDS);
      const { promise, resolve, reject } = Promise.withResolvers<Turn>();
      const waiting: Waiting = { reader, start: resolve };
      queue.push(waiting);
      makeRoomFor(reader);
      const check = setInterval(() => makeRoomFor(reader), limits.makeRoomEveryMs);
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
      if (open.delete(turn)) startNext();
    },
  };
}
