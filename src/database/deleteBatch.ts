import type { MerchantId } from '../contract/ids.ts';
import type { Param, Transaction } from './database.ts';
import { bytesSql, keyOf, type Table } from './tables.ts';

interface Some {
  /** SQL: which rows of the merchant `$1`. */
  where?: string;
  params?: readonly Param[];
  orderBy?: string;
  limit: number;
}

/** Deletes some rows of a merchant, and returns how many: if that is the limit, there may be more. */
export async function deleteBatch(
  tx: Transaction,
  table: Table,
  merchantId: MerchantId,
  { where, params = [], orderBy, limit }: Some,
): Promise<number> {
  const { name, stores } = table;
  const key = keyOf(table);
  const isWanted = `merchant_id = $1 ${where === undefined ? '' : `and ${where}`}`;
  const some = (columns: string) =>
    `select ${columns} from ${name} where ${isWanted} ${orderBy === undefined ? '' : `order by ${orderBy}`} limit ${limit}`;
  // With the merchant from the select, each row is looked up by its key: see `ownIdIn`. A cluster must find the node.
  const isAmong =
    table.key === 'merchant_id'
      ? isWanted
      : tx.isSpread
        ? `${isWanted} and (${key}) in (${some(`${key}`)})`
        : `(merchant_id, ${key}) in (${some(`merchant_id, ${key}`)}) ${where === undefined ? '' : `and ${where}`}`;
  const rows = await tx.run<{ bytes: number }>(
    // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
    `delete from ${name} where ${isAmong} returning ${stores?.free ? bytesSql(table) : 0} as bytes`,
    [merchantId, ...params],
  );
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (stores?.free && rows.length > 0) await stores.free(tx, new Map([[merchantId, bytes]]));
  return rows.length;
}
