import type { MerchantId } from '../../contract/ids.ts';
import type { SuggestionParts } from '../suggestions.ts';
import { findCandidates } from './candidates.ts';
import { countRows, findRows } from './fulltext.ts';
import { queryOf } from './words.ts';

const WORDS_MAX = 16;
/** A search with more results is too general; the oldest are left out. */
const FOUND_MAX = 10_000;
/** A word with a typing mistake, in a title of a few words. */
const SIMILAR_SCORE_MIN = 0.3;

interface Row {
  id: number;
  updated_at: string;
}

/**
 * The ids of the matching documents, best first. They contain all words. If no document does, those match that contain
 * the rarest words or are similar to the text.
 */
export async function searchDocuments(
  { database, ranking }: SuggestionParts,
  merchantId: MerchantId,
  text: string,
): Promise<number[]> {
  const groups = queryOf(text, WORDS_MAX);
  if (groups.length === 0) return [];
  const wanted = { table: 'documents', columns: 'id, updated_at', groups } as const;
  const whole = await findRows<Row>(database, merchantId, { ...wanted, limit: FOUND_MAX });
  const scores = await ranking.scores(merchantId, text);
  if (whole.length > 0) return best(whole, scores);
  const { found } = await countRows(database, merchantId, 'documents', groups);
  const partly = await findCandidates<Row>(database, merchantId, { ...wanted, found });
  const known = new Set(partly.map(({ id }) => id));
  const similar = [...scores].filter(([id, score]) => score >= SIMILAR_SCORE_MIN && !known.has(id));
  return best([...partly, ...similar.map(([id]) => ({ id, updated_at: '' }))], scores);
}

/** With equal scores, last updated first. */
function best(rows: Row[], scores: ReadonlyMap<number, number>): number[] {
  const scoreOf = ({ id }: Row) => scores.get(id) ?? 0;
  return rows
    .sort((a, b) => scoreOf(b) - scoreOf(a) || compare(b.updated_at, a.updated_at) || b.id - a.id)
    .map(({ id }) => id);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
