import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { findRows, type Searchable } from './fulltext.ts';
import type { Term } from './words.ts';

/** So many texts at most are compared word by word; that takes a few milliseconds. */
const CANDIDATES_MAX = 100;

/**
 * The rows that may be most like some words: those that have all of the known ones, and those that have one of
 * the rarest. Rows that share nothing but common words are left aside.
 */
export async function findCandidates<Row extends { id: number }>(
  queries: Queries,
  merchantId: MerchantId,
  { table, columns, groups, found }: Wanted,
): Promise<Row[]> {
  const known = groups
    .map((terms, index) => ({ terms, found: found[index] ?? 0 }))
    .filter((group) => group.found > 0)
    .sort((a, b) => a.found - b.found);
  if (known.length === 0) return [];

  let expected = 0;
  const rare = known.filter((group, index) => {
    expected += group.found;
    return index === 0 || expected <= CANDIDATES_MAX;
  });
  const find = (wanted: readonly (readonly Term[])[]) =>
    findRows<Row>(queries, merchantId, { table, columns, groups: wanted, limit: CANDIDATES_MAX });
  const [byRare, byAll] = await Promise.all([
    find([rare.flatMap(({ terms }) => terms)]),
    rare.length < known.length ? find(known.map(({ terms }) => terms)) : [],
  ]);
  return [...new Map([...byAll, ...byRare].map((row) => [row.id, row])).values()];
}

interface Wanted {
  table: Searchable;
  /** One of them called `id`. */
  columns: string;
  groups: readonly (readonly Term[])[];
  /** In how many rows of this table each group stands. */
  found: readonly number[];
}
