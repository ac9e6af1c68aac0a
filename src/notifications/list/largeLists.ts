import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import { endOf } from '../../database/batchPerTick.ts';
import type { Database, Snapshot } from '../../database/database.ts';
import { liftDeadline, withinDeadline } from '../../database/deadline.ts';
import { readInboxVersion } from '../inboxes.ts';
import { scan } from '../scan.ts';
import { createListTurns, type Reader } from './listTurns.ts';
import { type ListFilter, readPiece, windowOf } from './rows.ts';

/**
 * Lists that are too large for one text are sent in pieces, each read when the client has taken the one before. All
 * pieces come from one snapshot: the list is exactly that of its version, no matter what is written meanwhile.
 *
 * A piece takes SQLite a millisecond, so it needs no thread of its own: other requests run between two pieces. On
 * PostgreSQL a transaction is open for as long as the client reads. Without it the list would be a mix of versions.
 */
export interface LargeLists {
  open(reader: Reader, filter: ListFilter): Promise<LargeList>;
}

interface LargeList {
  version: string;
  /** Of the last notification, if another page follows. */
  nextBeforeId: number | undefined;
  /** Destroy it if it is not sent. */
  body: Readable;
}

/** A client that has not read the list by then is disconnected, because of what a snapshot holds. */
const OPEN_MAX_MS = 60_000;

/** The rows include notifications that the filter leaves out, so that a rare type does not make a piece slow. */
const PIECE = { rowsMax: 200, bytesMax: 64 * 1024 };

export function createLargeLists(database: Database): LargeLists {
  const turns = createListTurns();
  const serialize = createSerialize();
  return {
    async open(reader, filter) {
      const { merchantId } = reader;
      const turn = await turns.take(reader);
      let snapshot: Snapshot | undefined;
      const release = () => {
        snapshot?.close();
        turns.end(turn);
      };
      try {
        snapshot = await database.snapshot();
        const version = await readInboxVersion(snapshot, merchantId);
        const page = await findPage(snapshot, merchantId, filter, serialize);
        const pieces = piecesOf(snapshot, merchantId, filter, page.lastId, serialize);
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

type Serialize = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * One piece at a time for all lists together, and at most one in each turn of the event loop. Other requests need
 * several turns, and several turns of the database. They would wait for a piece of every open list in each of them.
 */
function createSerialize(): Serialize {
  let last: Promise<unknown> = Promise.resolve();
  return (read) => {
    const before = last;
    const result = (async () => {
      await endOf(before);
      await nextTurn();
      return read();
    })();
    last = result;
    return withinDeadline(result);
  };
}

/** With a limit: where the page ends. The Link header needs it before the first piece is sent. */
async function findPage(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
  serialize: Serialize,
): Promise<{ lastId: number; hasMore: boolean }> {
  const { limit } = filter;
  if (limit === undefined) return { lastId: 0, hasMore: false };
  let found = 0;
  let lastId = 0;
  let beforeId = filter.beforeId;
  for (;;) {
    const window = windowOf({ ...filter, beforeId }, PIECE.rowsMax);
    const { found: rows, last } = await serialize(() => scan(snapshot, merchantId, window));
    for (const { id } of rows) {
      if (found === limit) return { lastId, hasMore: true };
      found += 1;
      lastId = id;
    }
    if (!last) return { lastId: 0, hasMore: false };
    beforeId = last.id;
  }
}

/** The pieces of one JSON array. */
async function* piecesOf(
  snapshot: Snapshot,
  merchantId: MerchantId,
  filter: ListFilter,
  lastId: number,
  serialize: Serialize,
): AsyncGenerator<Buffer> {
  let beforeId = filter.beforeId;
  let opening = '[';
  for (;;) {
    const piece = await serialize(() =>
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
