import type { MerchantId } from '../contract/ids.ts';
import type { Param, Queries } from './database.ts';
import { identityOf } from './spread/identity.ts';
import { valuesParams, valuesSql } from './values.ts';

interface InsertOptions {
  /** SQL: the conflict's columns and what to do then. */
  onConflict?: string;
  returning?: string;
}

/**
 * Inserts rows of one merchant with one statement, and returns what it is `returning`. All rows have the same columns. On
 * a cluster their numbers are drawn before: see `identityOf`.
 */
export async function insertRows<Found>(
  queries: Queries,
  table: string,
  rows: readonly (Readonly<Record<string, Param>> & { readonly merchant_id: MerchantId })[],
  { onConflict, returning }: InsertOptions = {},
): Promise<Found[]> {
  const [first] = rows;
  if (!first) return [];
  const identity = queries.isSpread ? identityOf(table) : undefined;
  const isDrawn = identity !== undefined && !(identity in first);
  const ids = isDrawn ? await queries.newIds(table, rows.length) : [];
  const names = [...Object.keys(first), ...(isDrawn ? [identity] : [])];
  return queries.run<Found>(
    `${valuesSql(table, names, rows.length, onConflict)} ${returning ? `returning ${returning}` : ''}`,
    valuesParams(names, rows, (row, name, index) =>
      isDrawn && name === identity ? ids[index]! : (row[name] ?? null),
    ),
  );
}
