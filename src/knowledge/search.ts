import type { MerchantId } from '../contract/ids.ts';
import { findRows } from './fulltext.ts';
import type { SuggestionParts } from './suggestions.ts';
import { queryOf } from './words.ts';

const WORDS_MAX = 16;
/** A search with more results is too general; the oldest are left out. */
const FOUND_MAX = 10_000;

/**
 * The ids of the matching documents, best first. They contain all words. If no document does, those match that are
 * similar to the text.
 */
export async function searchDocuments(
  { database, ranking }: SuggestionParts,
  merchantId: MerchantId,
  text: string,
): Promise<number[]> {
  const groups = queryOf(text, WORDS_MAX);
  if (groups.length === 0) return [];
  const rows = await findRows<{ id: number; updated_at: string }>(database, merchantId, {
    table: 'documents',
    columns: 'id, updated_at',
    groups,
    limit: FOUND_MAX,
  });
  if (rows.length === 0) return (await ranking.rank(merchantId, text)).map(({ id }) => id);
  const scores = await ranking.scores(merchantId, text);
  const scoreOf = ({ id }: { id: number }) => scores.get(id) ?? 0;
  // With equal scores, last updated first.
  return rows
    .sort((a, b) => scoreOf(b) - scoreOf(a) || compare(b.updated_at, a.updated_at) || b.id - a.id)
    .map(({ id }) => id);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
