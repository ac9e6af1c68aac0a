import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Engine } from './database.ts';

/** Rows that are no longer needed after some time. */
export interface Expiring {
  table: string;
  /** The time from which a row is kept for `keptMs`. */
  column: string;
  keptMs: number;
  /** A condition in SQL: rows without it stay, whatever their age. */
  where?: string;
}

/** Small enough to stay within every time-out, and to delay others who need the same rows only briefly. */
const BATCH_SIZE = 1000;

const ROW: Record<Engine, string> = { sqlite: 'rowid', postgres: 'ctid' };
const AMONG: Record<Engine, (rows: string) => string> = {
  sqlite: (rows) => `in (${rows})`,
  // With an array, PostgreSQL fetches the rows by their location; with a sub-select it may scan the table.
  postgres: (rows) => `= any(array(${rows}))`,
};

/**
 * Removes expired rows in batches, and returns how many. Between two of them others have their turn: with SQLite, awaiting
 * a statement does not give them one. Any number of processes may do it at the same time.
 */
export async function removeExpired(
  database: Database,
  { table, column, keptMs, where }: Expiring,
  at: Date,
  stop?: AbortSignal,
): Promise<number> {
  const row = ROW[database.engine];
  // The order makes PostgreSQL use the column's index; without it, it scanned the table when little had expired.
  const expired = where === undefined ? `${column} < $1` : `${column} < $1 and ${where}`;
  const rows = `select ${row} from ${table} where ${expired} order by ${column} limit ${BATCH_SIZE}`;
  const before = new Date(at.getTime() - keptMs).toISOString();
  let removed = 0;
  for (;;) {
    const gone = await database.run(
      // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
      `delete from ${table} where ${row} ${AMONG[database.engine](rows)} and ${expired} returning 1 as gone`,
      [before],
    );
    removed += gone.length;
    if (gone.length < BATCH_SIZE || stop?.aborted) return removed;
    await nextTurn();
  }
}
