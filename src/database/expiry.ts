import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Engine, Transaction } from './database.ts';

/** Rows that are no longer needed after some time. */
export interface Expiring {
  table: string;
  /** The time from which a row is kept for `keptMs`. */
  column: string;
  keptMs: number;
  /** A condition in SQL: rows without it stay, whatever their age. */
  where?: string;
  /** For rows that count towards their merchant's storage: what each takes, in SQL as `bytes`, and who counts less. */
  counted?: {
    bytes: string;
    free: (tx: Transaction, merchantId: MerchantId, bytes: number) => Promise<void>;
  };
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
  { table, column, keptMs, where, counted }: Expiring,
  at: Date,
  stop?: AbortSignal,
): Promise<number> {
  const row = ROW[database.engine];
  // The order makes PostgreSQL use the column's index; without it, it scanned the table when little had expired.
  const expired = where === undefined ? `${column} < $1` : `${column} < $1 and ${where}`;
  const rows = `select ${row} from ${table} where ${expired} order by ${column} limit ${BATCH_SIZE}`;
  const before = new Date(at.getTime() - keptMs).toISOString();
  const returning = counted ? `merchant_id, ${counted.bytes}` : '1 as gone';
  // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
  const sql = `delete from ${table} where ${row} ${AMONG[database.engine](rows)} and ${expired} returning ${returning}`;
  const removeBatch = async () => {
    if (!counted) return (await database.run(sql, [before])).length;
    return database.transaction(async (tx) => {
      const gone = await tx.run<{ merchant_id: MerchantId; bytes: number }>(sql, [before]);
      const byMerchant = Map.groupBy(gone, ({ merchant_id }) => merchant_id);
      // In one order: another process may do the same.
      for (const [merchantId, own] of [...byMerchant].sort(([a], [b]) => a - b)) {
        await counted.free(
          tx,
          merchantId,
          own.reduce((sum, { bytes }) => sum + bytes, 0),
        );
      }
      return gone.length;
    });
  };
  for (let removed = 0; ; ) {
    const count = await removeBatch();
    removed += count;
    if (count < BATCH_SIZE || stop?.aborted) return removed;
    await nextTurn();
  }
}
