import type { Reads } from '../database.ts';

/** The columns of a table's primary key. The first is `merchant_id` if the table is spread: see `EVERYWHERE`. */
export async function primaryKeyOf(queries: Reads, table: string): Promise<string[]> {
  const rows = await queries.all<{ name: string }>(
    `select a.attname as name from pg_constraint k
      cross join unnest(k.conkey) with ordinality as c (number, place)
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.number
      where k.conrelid = to_regclass($1) and k.contype = 'p' order by c.place`,
    [table],
  );
  return rows.map(({ name }) => name);
}

interface Some {
  /** SQL: which rows of the merchant. */
  where?: string;
  orderBy?: string;
  limit: number;
}

/**
 * SQL: deletes some rows of the merchant `$1`, by their primary key, for a `returning` of the caller's. `ctid` is faster,
 * but says where a row is on one node.
 */
export function deleteByKey(table: string, key: readonly string[], { where, orderBy, limit }: Some): string {
  const isWanted = where === undefined ? 'merchant_id = $1' : `merchant_id = $1 and ${where}`;
  const columns = key.filter((column) => column !== 'merchant_id').join(', ');
  const isAmong =
    columns === ''
      ? ''
      : `and (${columns}) in (select ${columns} from ${table} where ${isWanted}
          order by ${orderBy ?? columns} limit ${limit})`;
  return `delete from ${table} where ${isWanted} ${isAmong}`;
}
