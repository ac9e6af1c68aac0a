import type { MerchantId } from '../../contract/ids.ts';
import type { Engine, Queries } from '../../database/database.ts';
import { findRows, type Searchable } from './fulltext.ts';
import type { Term } from './words.ts';

/** At most this many texts are compared word by word. */
const CANDIDATES_MAX = 100;
/** Their words are up to 10 kB long. SQLite blocks the event loop while it reads; PostgreSQL would search again each time. */
const READ_AT_ONCE: Record<Engine, number> = { sqlite: 10, postgres: CANDIDATES_MAX };
/** The beginning of a longer question is enough. */
export const COMPARED_LENGTH_MAX = 1000;

/**
 * The rows that may be most similar to some words: those that contain all known words, and those that contain one of
 * the rarest. Rows that only share common words are left out.
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
    findRows<Row>(queries, merchantId, {
      table,
      columns,
      groups: wanted,
      limit: CANDIDATES_MAX,
      atOnce: READ_AT_ONCE[queries.engine],
    });
  const [byRare, byAll] = await Promise.all([
    find([rare.flatMap(({ terms }) => terms)]),
    rare.length < known.length ? find(known.map(({ terms }) => terms)) : [],
  ]);
  return [...new Map([...byAll, ...byRare].map((row) => [row.id, row])).values()];
}

interface Wanted {
  table: Searchable;
  /** One of them must be named `id`. */
  columns: string;
  groups: readonly (readonly Term[])[];
  /** How many rows of this table contain each group. */
  found: readonly number[];
}
