import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Engine, Param, Transaction } from './database.ts';
import { deleteByKey, primaryKeyOf } from './spread/deleteByKey.ts';

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
    free: (tx: Transaction, bytes: ReadonlyMap<MerchantId, number>) => Promise<void>;
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
  expiring: Expiring,
  at: Date,
  stop?: AbortSignal,
): Promise<number> {
  const { table, column, keptMs } = expiring;
  const before = new Date(at.getTime() - keptMs).toISOString();
  const key = database.isSpread ? await primaryKeyOf(database, table) : [];
  if (key[0] === 'merchant_id') return removeOfMerchants(database, expiring, key, before, stop);
  const row = ROW[database.engine];
  const isExpired = conditionOf(expiring, '$1');
  // The order makes PostgreSQL use the column's index; without it, it scanned the table when little had expired.
  const rows = `select ${row} from ${table} where ${isExpired} order by ${column} limit ${BATCH_SIZE}`;
  // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
  const sql = `delete from ${table} where ${row} ${AMONG[database.engine](rows)} and ${isExpired}`;
  return removeInBatches(database, expiring, { sql, params: [before] }, stop);
}

const conditionOf = ({ column, where }: Expiring, before: string) =>
  where === undefined ? `${column} < ${before}` : `${column} < ${before} and ${where}`;

interface Removal {
  sql: string;
  params: readonly Param[];
}

async function removeInBatches(
  database: Database,
  expiring: Expiring,
  removal: Removal,
  stop: AbortSignal | undefined,
): Promise<number> {
  for (let removed = 0; ; await nextTurn()) {
    const count = await removeBatch(database, expiring, removal);
    removed += count;
    if (count < BATCH_SIZE || stop?.aborted) return removed;
  }
}

async function removeBatch(
  database: Database,
  { counted }: Expiring,
  { sql, params }: Removal,
): Promise<number> {
  if (!counted) return (await database.run(`${sql} returning 1 as gone`, params)).length;
  return database.transaction(async (tx) => {
    const gone = await tx.run<{ merchant_id: MerchantId; bytes: number }>(
      `${sql} returning merchant_id, ${counted.bytes}`,
      params,
    );
    const freed = new Map<MerchantId, number>();
    for (const { merchant_id, bytes } of gone) freed.set(merchant_id, (freed.get(merchant_id) ?? 0) + bytes);
    await counted.free(tx, freed);
    return gone.length;
  });
}

/** On a cluster: looks for merchants with expired rows, and removes those of one merchant after another. */
async function removeOfMerchants(
  database: Database,
  expiring: Expiring,
  key: readonly string[],
  before: string,
  stop: AbortSignal | undefined,
): Promise<number> {
  const { table, column } = expiring;
  const where = conditionOf(expiring, '$2');
  const sql = deleteByKey(table, key, { where, orderBy: column, limit: BATCH_SIZE });
  for (let removed = 0; ; ) {
    const oldest = await database.all<{ merchant_id: number }>(
      `select merchant_id from ${table} where ${conditionOf(expiring, '$1')} order by ${column} limit ${BATCH_SIZE}`,
      [before],
    );
    let count = 0;
    for (const merchantId of new Set(oldest.map(({ merchant_id }) => merchant_id))) {
      if (stop?.aborted) return removed + count;
      count += await removeInBatches(database, expiring, { sql, params: [merchantId, before] }, stop);
    }
    removed += count;
    if (oldest.length < BATCH_SIZE || count === 0) return removed;
  }
}
