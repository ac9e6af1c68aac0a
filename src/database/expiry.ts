import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Engine } from './database.ts';
import { deleteBatch } from './deleteBatch.ts';
import { bytesSql, type Kept, type Table } from './tables.ts';

/** Small enough to stay within every time-out, and to delay others who need the same rows only briefly. */
const BATCH_SIZE = 1000;
/** Of rows that count towards storage, because the counts of their merchants stay locked. */
const COUNTED_BATCH_SIZE = 200;

const ROW: Record<Engine, string> = { sqlite: 'rowid', postgres: 'ctid' };
const AMONG: Record<Engine, (rows: string) => string> = {
  sqlite: (rows) => `in (${rows})`,
  // With an array, PostgreSQL fetches the rows by their location; with a sub-select it may scan the table.
  postgres: (rows) => `= any(array(${rows}))`,
};

/**
 * Removes the rows whose time is before this one, in batches. Between two of them others have their turn: with SQLite,
 * awaiting a statement does not give them one. Any number of processes may do it at the same time.
 */
export async function removeExpired(
  database: Database,
  table: Table,
  { since, where }: Kept,
  before: string | number,
  stop?: AbortSignal,
): Promise<void> {
  const condition = (parameter: string) =>
    where === undefined ? `${since} < ${parameter}` : `${since} < ${parameter} and ${where}`;
  const limit = table.stores?.free ? COUNTED_BATCH_SIZE : BATCH_SIZE;
  for (let count = limit; count === limit && !stop?.aborted; await nextTurn())
    count =
      database.isSpread && table.of === undefined
        ? await removeOfMerchants(database, table, { since: since!, condition, before, limit }, stop)
        : await removeBatch(database, table, { since: since!, condition, before, limit });
}

interface Expired {
  since: string;
  /** SQL: with the number of its parameter, that a row has expired. */
  condition: (parameter: string) => string;
  before: string | number;
  limit: number;
}

async function removeBatch(
  database: Database,
  table: Table,
  { since, condition, before, limit }: Expired,
): Promise<number> {
  const row = ROW[database.engine];
  // The order makes PostgreSQL use the column's index; without it, it scanned the table when little had expired.
  const rows = `select ${row} from ${table.name} where ${condition('$1')} order by ${since} limit ${limit}`;
  // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
  const sql = `delete from ${table.name} where ${row} ${AMONG[database.engine](rows)} and ${condition('$1')}`;
  const { free } = table.stores ?? {};
  if (!free) return (await database.run(`${sql} returning 1 as gone`, [before])).length;
  return database.transaction(async (tx) => {
    const gone = await tx.run<{ merchant_id: MerchantId; bytes: number }>(
      `${sql} returning merchant_id, ${bytesSql(table)} as bytes`,
      [before],
    );
    const freed = new Map<MerchantId, number>();
    for (const { merchant_id, bytes } of gone) freed.set(merchant_id, (freed.get(merchant_id) ?? 0) + bytes);
    await free(tx, freed);
    return gone.length;
  });
}

/** On a cluster: looks for merchants with expired rows, and removes those of one merchant after another. */
async function removeOfMerchants(
  database: Database,
  table: Table,
  { since, condition, before, limit }: Expired,
  stop: AbortSignal | undefined,
): Promise<number> {
  const oldest = await database.all<{ merchant_id: MerchantId }>(
    `select merchant_id from ${table.name} where ${condition('$1')} order by ${since} limit ${limit}`,
    [before],
  );
  let isAny = false;
  for (const merchantId of new Set(oldest.map(({ merchant_id }) => merchant_id))) {
    for (let count = limit; count === limit && !stop?.aborted; await nextTurn()) {
      const some = { where: condition('$2'), params: [before], orderBy: since, limit };
      count = await database.transaction((tx) => deleteBatch(tx, table, merchantId, some));
      isAny ||= count > 0;
    }
  }
  return isAny ? oldest.length : 0;
}
