import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { inSlices } from '../http/limits/slices.ts';
import { comparedWords, findCandidates } from './candidates.ts';
import { countRows, findRows } from './fulltext.ts';
import { hasTerm, rarity } from './similarity.ts';
import { queryOf, type Term } from './words.ts';

const WORDS_MAX = 16;
/** A search with more results is too general; the oldest are left out. */
const FOUND_MAX = 10_000;

interface Found {
  id: number;
  updated_at: string;
  title_words: string;
}

/**
 * The ids of the matching documents, best first. They contain all words. If no document does, those with the rarest
 * words match.
 */
export async function searchDocuments(
  queries: Queries,
  merchantId: MerchantId,
  text: string,
): Promise<number[]> {
  const groups = queryOf(text, WORDS_MAX);
  if (groups.length === 0) return [];
  const whole = await findRows<Found>(queries, merchantId, {
    table: 'documents',
    columns: 'id, updated_at, title_words',
    groups,
    limit: FOUND_MAX,
  });
  if (whole.length > 0 || groups.length === 1) return ranked(whole, (row) => titleScore(row, groups));

  const { total, found } = await countRows(queries, merchantId, 'documents', groups);
  const weights = found.map((rows) => rarity(total, rows));
  const partly = await findCandidates<Found & { all_words: string }>(queries, merchantId, {
    table: 'documents',
    columns: `id, updated_at, title_words,
      ${comparedWords('words')} || ' ' || ${comparedWords('word_forms')} as all_words`,
    groups,
    found,
  });
  return ranked(partly, (row) => {
    const title = row.title_words.split(' ');
    const words = row.all_words.split(' ');
    return groups.reduce((score, terms, index) => {
      if (!hasTerm(words, terms)) return score;
      return score + weights[index]! * (hasTerm(title, terms) ? 1.5 : 1);
    }, 0);
  });
}

/** Words in the title count more, and a shorter title counts more than a longer one. */
function titleScore({ title_words }: Found, groups: readonly (readonly Term[])[]): number {
  const title = title_words.split(' ');
  const hits = groups.filter((terms) => hasTerm(title, terms)).length;
  return hits + hits / title.length;
}

/** With equal scores, last updated first. */
async function ranked<Row extends Found>(
  rows: readonly Row[],
  scoreOf: (row: Row) => number,
): Promise<number[]> {
  const pause = inSlices();
  const scored: { id: number; updatedAt: string; score: number }[] = [];
  for (const row of rows) {
    scored.push({ id: row.id, updatedAt: row.updated_at, score: scoreOf(row) });
    await pause();
  }
  return scored
    .sort((a, b) => b.score - a.score || compare(b.updatedAt, a.updatedAt) || b.id - a.id)
    .map(({ id }) => id);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
