import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Snapshot } from '../database/database.ts';
import { liftDeadline, msLeft } from '../database/deadline.ts';
import { rateLimited } from '../errors.ts';
import { type ListFilter, readInboxVersion, readPiece, scanNotifications } from './store.ts';

/**
 * Lists that are too large for one text are sent in pieces, each read when the client has taken the one before. All
 * pieces come from one snapshot: the list is exactly that of its version, no matter what is written meanwhile.
 *
 * A piece takes SQLite a millisecond, so it needs no thread of its own: other requests run between two pieces. On
 * PostgreSQL a transaction is open for as long as the client reads. Without it the list would be a mix of versions.
 */
export interface LargeLists {
  open(merchantId: MerchantId, filter: ListFilter): Promise<LargeList>;
}

interface LargeList {
  version: string;
  /** Of the last notification, if another page follows. */
  nextBeforeId: number | undefined;
  /** Destroy it if it is not sent. */
  body: Readable;
}

/** Each open list has a database connection and about two pieces in memory. */
const OPEN_MAX = 8;
const OPEN_PER_MERCHANT_MAX = 2;
const WAITING_PER_MERCHANT_MAX = 16;
const WAIT_MAX_MS = 4000;
/** What is left of the request's time for opening the list. */
const OPENING_MS = 500;
const RETRY_AFTER_SECONDS = 2;
/** A client that has not read the list by then is disconnected, because of what a snapshot holds. */
const OPEN_MAX_MS = 60_000;
/** A list that is open for this long ends when another merchant waits for its place. */
const UNDISTURBED_MS = 10_000;

/** The rows include notifications that the filter leaves out, so that a rare type does not make a piece slow. */
const PIECE = { rowsMax: 200, bytesMax: 64 * 1024 };

export function createLargeLists(database: Database): LargeLists {
  const turns = createTurns();
  const inTurn = createInTurn();
  return {
    async open(merchantId, filter) {
      const turn = await turns.take(merchantId);
      let snapshot: Snapshot | undefined;
      const release = () => {
        snapshot?.close();
        turns.end(turn);
      };
      try {
        snapshot = await database.snapshot();
        const version = await readInboxVersion(snapshot, merchantId);
        const page = await findPage(snapshot, merchantId, filter, inTurn);
        const pieces = piecesOf(snapshot, merchantId, filter, page.lastId, inTurn);
        // A failure of the first piece is still an ordinary error response.
        const first = await pieces.next();
        liftDeadline();
        const body = Readable.from(startWith(first.value, pieces), {
          objectMode: false,
          highWaterMark: PIECE.bytesMax,
        });
        turn.interrupt = () => body.destroy(new Error('the list was read too slowly'));
        const timer = setTimeout(turn.interrupt, OPEN_MAX_MS);
        body.once('close', () => {
          clearTimeout(timer);
          release();
        });
        return { version, nextBeforeId: page.hasMore ? page.lastId : undefined, body };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

type InTurn = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * One piece at a time for all lists together, and at most one in each turn of the event loop. Other requests need
 * several turns, and several turns of the database. They would wait for a piece of every open list in each of them.
 */
function createInTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (read) => {
    const result = last.then(() => nextTurn()).then(read);
    last = result.catch(() => {});
    return result;
  };
}

/** With a limit: where the page ends. The Link header needs it before the first piece is sent. */
async function findPage(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
  inTurn: InTurn,
): Promise<{ lastId: number; hasMore: boolean }> {
  const { limit } = filter;
  if (limit === undefined) return { lastId: 0, hasMore: false };
  let found = 0;
  let lastId = 0;
  let beforeId = filter.beforeId;
  for (;;) {
    const rows = await inTurn(() =>
      scanNotifications(snapshot, merchantId, { ...filter, beforeId }, PIECE.rowsMax),
    );
    for (const { id, matches } of rows) {
      if (matches === 0) continue;
      if (found === limit) return { lastId, hasMore: true };
      found += 1;
      lastId = id;
    }
    if (rows.length < PIECE.rowsMax) return { lastId: 0, hasMore: false };
    beforeId = rows.at(-1)!.id;
  }
}

/** The pieces of one JSON array. */
async function* piecesOf(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
  lastId: number,
  inTurn: InTurn,
): AsyncGenerator<Buffer> {
  let beforeId = filter.beforeId;
  let opening = '[';
  for (;;) {
    const piece = await inTurn(() =>
      readPiece(snapshot, merchantId, { ...filter, beforeId }, lastId, opening, PIECE),
    );
    if (piece.body) {
      yield piece.body;
      opening = ',';
    }
    if (piece.lastId === undefined) break;
    beforeId = piece.lastId;
  }
  yield Buffer.from(opening === '[' ? '[]' : ']');
}

async function* startWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

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

/** Who may open a list. The others wait, and after some time they are asked to come back later. */
function createTurns() {
  const open = new Set<Turn>();
  const queue: Waiting[] = [];
  const openOf = (merchantId: MerchantId) =>
    [...open].filter((turn) => turn.merchantId === merchantId).length;
  const isFree = (merchantId: MerchantId) =>
    open.size < OPEN_MAX && openOf(merchantId) < OPEN_PER_MERCHANT_MAX;

  const begin = (merchantId: MerchantId): Turn => {
    const turn = { merchantId, sinceMs: performance.now(), interrupt: () => {} };
    open.add(turn);
    return turn;
  };

  /** Slow readers of a few merchants must not keep all others out. */
  function interruptSlowest(waitingFor: MerchantId): void {
    if (open.size < OPEN_MAX) return;
    const [oldest] = open;
    const isOld = oldest && performance.now() - oldest.sinceMs > UNDISTURBED_MS;
    if (isOld && oldest.merchantId !== waitingFor) oldest.interrupt();
  }

  return {
    async take(merchantId: MerchantId): Promise<Turn> {
      if (isFree(merchantId)) return begin(merchantId);
      const waitingCount = queue.filter((waiting) => waiting.merchantId === merchantId).length;
      if (waitingCount >= WAITING_PER_MERCHANT_MAX) throw rateLimited(RETRY_AFTER_SECONDS);
      const { promise, resolve, reject } = Promise.withResolvers<Turn>();
      const waiting: Waiting = { merchantId, start: resolve };
      queue.push(waiting);
      interruptSlowest(merchantId);
      const timer = setTimeout(
        () => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(rateLimited(RETRY_AFTER_SECONDS));
        },
        Math.max(0, Math.min(WAIT_MAX_MS, msLeft() - OPENING_MS)),
      );
      return promise.finally(() => clearTimeout(timer));
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
