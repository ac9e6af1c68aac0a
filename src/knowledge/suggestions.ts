import type { MerchantId } from '../contract/ids.ts';
import type { Suggestion } from '../contract/knowledge.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { inSlices } from '../http/limits/slices.ts';
import type { Learned } from './learn.ts';
import { type Ranking, SCORE_MIN } from './ranking/rank.ts';
import { COMPARED_LENGTH_MAX, findCandidates } from './search/candidates.ts';
import { countRows } from './search/fulltext.ts';
import { stemsOf } from './search/words.ts';

const WORDS_MAX = 32;

/** A longer question is shortened. */
const QUESTION_LENGTH_MAX = 4096;

/** A text that is similar, before its question and answer are read. */
interface Match {
  kind: Suggestion['kind'];
  id: number;
  score: number;
}

export interface SuggestionParts {
  database: Queries;
  ranking: Ranking;
}

/** The documents, and the answered questions of other notifications, that are most similar to a question, best first. */
export async function suggestAnswers(
  { database, ranking }: SuggestionParts,
  merchantId: MerchantId,
  asked: { notificationId: number; question: string },
  limit: number,
): Promise<Suggestion[]> {
  const question = asked.question.slice(0, QUESTION_LENGTH_MAX);
  const [documents, questions] = await Promise.all([
    ranking.rank(merchantId, question, SCORE_MIN),
    rankAnswered({ database, ranking }, merchantId, question),
  ]);
  const matches: Match[] = [
    ...documents.map((found) => ({ kind: 'document' as const, ...found })),
    ...questions.filter(({ id }) => id !== asked.notificationId),
  ];
  return readSuggestions(database, merchantId, matches.sort(better), limit);
}

export interface Wanted {
  limit: number;
  scoreMin?: number;
}

/** The documents that are most similar to a question, best first. */
export async function suggestDocuments(
  { database, ranking }: SuggestionParts,
  merchantId: MerchantId,
  question: string,
  { limit, scoreMin = SCORE_MIN }: Wanted,
): Promise<Suggestion[]> {
  const documents = await ranking.rank(merchantId, question, scoreMin);
  const matches = documents.map((found) => ({ kind: 'document' as const, ...found }));
  return readSuggestions(database, merchantId, matches, limit);
}

/** There may be any number of answered questions, so only those with the rarest words are compared. */
async function rankAnswered(
  { database, ranking }: SuggestionParts,
  merchantId: MerchantId,
  question: string,
): Promise<Match[]> {
  const groups = stemsOf(question, WORDS_MAX).map((word) => [{ word }]);
  if (groups.length === 0) return [];
  const { found } = await countRows(database, merchantId, 'answered_questions', groups);
  const candidates = await findCandidates<{ id: number; question: string }>(database, merchantId, {
    table: 'answered_questions',
    columns: `notification_id as id, substr(question, 1, ${COMPARED_LENGTH_MAX}) as question`,
    groups,
    found,
  });
  const texts = candidates.map((candidate) => candidate.question);
  const scores = await ranking.compare(merchantId, question, texts);
  return candidates
    .map(({ id }, index) => ({ kind: 'notification' as const, id, score: scores[index]! }))
    .filter(({ score }) => score >= SCORE_MIN);
}

const TEXTS: Readonly<Record<Match['kind'], string>> = {
  document: 'select title as question, body as answer from documents where merchant_id = $1 and id = $2',
  notification: `select substr(question, 1, ${QUESTION_LENGTH_MAX}) as question, answer from answered_questions
    where merchant_id = $1 and notification_id = $2`,
};

/** An answer that became a document is listed only once. */
async function readSuggestions(
  queries: Queries,
  merchantId: MerchantId,
  matches: readonly Match[],
  limit: number,
): Promise<Suggestion[]> {
  const suggestions = new Map<string, Suggestion>();
  const pause = inSlices();
  for (const match of matches) {
    if (suggestions.size === limit) break;
    const texts = await queries.one<{ question: string; answer: string }>(TEXTS[match.kind], [
      merchantId,
      match.id,
    ]);
    // It may have been deleted in between.
    if (!texts) continue;
    const { question, answer } = texts;
    const key = `${question}\n${answer}`;
    if (!suggestions.has(key)) {
      suggestions.set(key, { kind: match.kind, id: match.id, question, answer, score: match.score });
    }
    await pause();
  }
  return [...suggestions.values()];
}

/** With equal scores, documents come first, because the assistant uses them; then the newest. */
const better = (a: Match, b: Match) =>
  b.score - a.score || (a.kind === b.kind ? b.id - a.id : a.kind === 'document' ? -1 : 1);

export interface Answered {
  notificationId: number;
  question: string;
  answer: string;
}

/** Stores an answered question for suggestions. It is deleted with its notification. */
export const rememberAnswered = (
  tx: Queries,
  merchantId: MerchantId,
  { notificationId, question, answer }: Answered,
  learned?: Learned,
): Promise<void> =>
  tx.write(
    `insert into answered_questions (merchant_id, notification_id, question, answer, words, learned, document_id,
        document_version)
      values ($1, $2, $3, $4, $5, $6, $7, $8)
      on conflict (merchant_id, notification_id) do update
        set question = excluded.question, answer = excluded.answer, words = excluded.words, learned = excluded.learned,
          document_id = excluded.document_id, document_version = excluded.document_version`,
    [
      ...[merchantId, notificationId],
      ...[storableText(question.slice(0, QUESTION_LENGTH_MAX)), storableText(answer)],
      stemsOf(question, WORDS_MAX).join(' '),
      ...[learned?.do ?? null, learned?.documentId ?? null, learned?.version ?? null],
    ],
  );
