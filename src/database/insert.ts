import type { MerchantId } from '../contract/ids.ts';
import type { Param, Queries } from './database.ts';
import { identityOf } from './spread/identity.ts';
import { type Reference, valuesParams, valuesSql } from './values.ts';

interface InsertOptions {
  /** SQL: the conflict's columns and what to do then. */
  onConflict?: string;
  returning?: string;
  /** All rows have the same value of it. */
  reference?: Reference;
}

type Row = Readonly<Record<string, Param>> & { readonly merchant_id: MerchantId };

/** Of one statement. SQLite accepts 32,766, and each number of rows is a text of its own. */
const PARAMS_MAX = 5000;

/**
 * Inserts rows of one merchant, and returns what it is `returning`: see `write` if that is nothing. All rows have the same
 * columns. On a cluster their numbers are drawn before: see `identityOf`. An insert there cannot look for a reference,
 * either.
 */
export async function insertRows<Found>(
  queries: Queries,
  table: string,
  given: readonly Row[],
  { onConflict, returning, reference }: InsertOptions = {},
): Promise<Found[]> {
  const [first] = given;
  if (!first) return [];
  // With many rows, a sub-select in each would take as long as the rows themselves.
  const isInStatement = given.length === 1 && !queries.isSpread;
  const all = reference && !isInStatement ? await withReference(queries, given, reference) : given;
  const identity = queries.isSpread ? identityOf(table) : undefined;
  const isDrawn = identity !== undefined && !(identity in first);
  const names = [...Object.keys(first), ...(isDrawn ? [identity] : [])];
  const inserted: Found[] = [];
  const rowsMax = Math.floor(PARAMS_MAX / names.length);
  for (let from = 0; from < all.length; from += rowsMax) {
    const rows = all.slice(from, from + rowsMax);
    const ids = isDrawn ? await queries.newIds(table, rows.length) : [];
    const sql = valuesSql(table, names, rows.length, {
      onConflict,
      reference: isInStatement ? reference : undefined,
    });
    const params = valuesParams(names, rows, (row, name, index) =>
      isDrawn && name === identity ? ids[index]! : (row[name] ?? null),
    );
    if (returning) inserted.push(...(await queries.run<Found>(`${sql} returning ${returning}`, params)));
    else await queries.write(sql, params);
  }
  return inserted;
}

async function withReference(
  queries: Queries,
  rows: readonly Row[],
  { column, table }: Reference,
): Promise<readonly Row[]> {
  const id = rows[0]![column] ?? null;
  if (id === null || (await queries.one(`select id from ${table} where id = $1`, [id]))) return rows;
  return rows.map((row) => ({ ...row, [column]: null }));
}
