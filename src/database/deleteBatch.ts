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
  const isWanted = where === undefined ? 'merchant_id = $1' : `merchant_id = $1 and ${where}`;
  // By the primary key, because on a cluster `ctid` says where a row is on one node.
  const isAmong =
    table.key === 'merchant_id'
      ? ''
      : `and (${key}) in (select ${key} from ${name} where ${isWanted} ${orderBy ? `order by ${orderBy}` : ''} limit ${limit})`;
  const rows = await tx.run<{ bytes: number }>(
    // The condition appears twice: PostgreSQL checks it again for a row that was changed in the meantime.
    `delete from ${name} where ${isWanted} ${isAmong} returning ${stores?.free ? bytesSql(table) : 0} as bytes`,
    [merchantId, ...params],
  );
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (stores?.free && rows.length > 0) await stores.free(tx, new Map([[merchantId, bytes]]));
  return rows.length;
}
