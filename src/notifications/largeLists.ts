import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Snapshot } from '../database/database.ts';
import { liftDeadline } from '../database/deadline.ts';
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
const OPEN_MAX = 4;
const OPEN_PER_MERCHANT_MAX = 2;
const WAITING_PER_MERCHANT_MAX = 16;
const WAIT_MAX_MS = 4000;
const RETRY_AFTER_SECONDS = 2;
/** A client that has not read the list by then is disconnected, because of what a snapshot holds. */
const OPEN_MAX_MS = 60_000;

/** The rows include notifications that the filter leaves out, so that a rare type does not make a piece slow. */
const PIECE = { rowsMax: 200, bytesMax: 64 * 1024 };

export function createLargeLists(database: Database): LargeLists {
  const turns = createTurns();
  return {
    async open(merchantId, filter) {
      const endTurn = await turns.take(merchantId);
      let snapshot: Snapshot | undefined;
      const release = () => {
        snapshot?.close();
        endTurn();
      };
      try {
        snapshot = await database.snapshot();
        const version = await readInboxVersion(snapshot, merchantId);
        const page = await findPage(snapshot, merchantId, filter);
        const pieces = piecesOf(snapshot, merchantId, filter, page.lastId);
        // A failure of the first piece is still an ordinary error response.
        const first = await pieces.next();
        liftDeadline();
        const body = Readable.from(startWith(first.value, pieces), {
          objectMode: false,
          highWaterMark: PIECE.bytesMax,
        });
        const timer = setTimeout(() => body.destroy(new Error('the list was read too slowly')), OPEN_MAX_MS);
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

/** With a limit: where the page ends. The Link header needs it before the first piece is sent. */
async function findPage(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
): Promise<{ lastId: number; hasMore: boolean }> {
  const { limit } = filter;
  if (limit === undefined) return { lastId: 0, hasMore: false };
  let found = 0;
  let lastId = 0;
  let beforeId = filter.beforeId;
  for (;;) {
    const rows = await scanNotifications(snapshot, merchantId, { ...filter, beforeId }, PIECE.rowsMax);
    for (const { id, matches } of rows) {
      if (matches === 0) continue;
      if (found === limit) return { lastId, hasMore: true };
      found += 1;
      lastId = id;
    }
    if (rows.length < PIECE.rowsMax) return { lastId: 0, hasMore: false };
    beforeId = rows.at(-1)!.id;
    await nextTurn();
  }
}

/** The pieces of one JSON array. */
async function* piecesOf(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
  lastId: number,
): AsyncGenerator<Buffer> {
  let beforeId = filter.beforeId;
  let opening = '[';
  for (;;) {
    const piece = await readPiece(snapshot, merchantId, { ...filter, beforeId }, lastId, opening, PIECE);
    if (piece.body) {
      yield piece.body;
      opening = ',';
    }
    if (piece.lastId === undefined) break;
    beforeId = piece.lastId;
    await nextTurn();
  }
  yield Buffer.from(opening === '[' ? '[]' : ']');
}

async function* startWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

interface Waiting {
  merchantId: MerchantId;
  start: () => void;
}

/** Who may open a list. The others wait, and after some time they are asked to come back later. */
function createTurns(): { take(merchantId: MerchantId): Promise<() => void> } {
  const open: MerchantId[] = [];
  const queue: Waiting[] = [];
  const ofMerchant = (merchantId: MerchantId) => open.filter((id) => id === merchantId).length;
  const isFree = (merchantId: MerchantId) =>
    open.length < OPEN_MAX && ofMerchant(merchantId) < OPEN_PER_MERCHANT_MAX;

  const begin = (merchantId: MerchantId): (() => void) => {
    open.push(merchantId);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      open.splice(open.indexOf(merchantId), 1);
      const next = queue.findIndex((waiting) => isFree(waiting.merchantId));
      if (next >= 0) queue.splice(next, 1)[0]!.start();
    };
  };

  return {
    async take(merchantId) {
      if (isFree(merchantId)) return begin(merchantId);
      const waitingCount = queue.filter((waiting) => waiting.merchantId === merchantId).length;
      if (waitingCount >= WAITING_PER_MERCHANT_MAX) throw rateLimited(RETRY_AFTER_SECONDS);
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          merchantId,
          start() {
            clearTimeout(timer);
            resolve(begin(merchantId));
          },
        };
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(rateLimited(RETRY_AFTER_SECONDS));
        }, WAIT_MAX_MS);
        queue.push(waiting);
      });
    },
  };
}
