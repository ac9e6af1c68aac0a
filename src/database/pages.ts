import type { MerchantId } from '../contract/ids.ts';
import type { Reads } from './database.ts';
import { keyOf, type Table } from './tables.ts';

/** Each row of a merchant's table whose key is one column, a page at a time. Rows may be changed and removed meanwhile. */
export async function* pagesOf<Row extends object>(
  queries: Pick<Reads, 'all'>,
  table: Pick<Table, 'name' | 'key'>,
  merchantId: MerchantId,
  columns: string,
  size = 200,
): AsyncGenerator<(Row & { page_key: number | string })[]> {
  const [key] = keyOf(table);
  const select = (after: string) =>
    `select ${key} as page_key, ${columns} from ${table.name} where merchant_id = $1 ${after} order by ${key} limit ${size}`;
  for (let last: number | string | undefined; ; ) {
    const rows = await (last === undefined
      ? queries.all<Row & { page_key: number | string }>(select(''), [merchantId])
      : queries.all<Row & { page_key: number | string }>(select(`and ${key} > $2`), [merchantId, last]));
    yield rows;
    if (rows.length < size) return;
    last = rows.at(-1)!.page_key;
  }
}
