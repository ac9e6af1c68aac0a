import type { MerchantId } from '../contract/ids.ts';
import type { Param } from './database.ts';

/** A column whose row in another table may be gone: then it is null. */
export interface Reference {
  column: string;
  table: string;
}

/** An insert of several rows of one merchant. The merchant is $1 in each of them: a cluster finds the node by it. */
export function valuesSql(
  table: string,
  columns: readonly string[],
  rows: number,
  { onConflict, reference }: { onConflict?: string | undefined; reference?: Reference | undefined },
): string {
  let position = 1;
  const place = (column: string) => {
    if (column === 'merchant_id') return '$1';
    position += 1;
    return column === reference?.column
      ? `(select id from ${reference.table} where id = $${position})`
      : `$${position}`;
  };
  const lines = Array.from({ length: rows }, () => `(${columns.map(place)})`);
  return `insert into ${table} (${columns}) values ${lines} ${onConflict ? `on conflict ${onConflict}` : ''}`;
}

/** The parameters of `valuesSql`. */
export function valuesParams<Row extends { readonly merchant_id: MerchantId }>(
  columns: readonly string[],
  rows: readonly Row[],
  read: (row: Row, column: string, index: number) => Param,
): Param[] {
  const others = columns.filter((column) => column !== 'merchant_id');
  return [
    rows[0]!.merchant_id,
    ...rows.flatMap((row, index) => others.map((column) => read(row, column, index))),
  ];
}
