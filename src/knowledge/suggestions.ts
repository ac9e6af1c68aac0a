import type { MerchantId } from '../contract/ids.ts';
import type { Suggestion } from '../contract/knowledge.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { notificationNotFound } from '../errors.ts';
import { inSlices } from '../http/limits/slices.ts';
import { comparedWords, findCandidates } from './candidates.ts';
import { countRows } from './fulltext.ts';
import { coverage, rarity, similarity, type WeightedWords, weigh } from './similarity.ts';
import { stemsOf } from './words.ts';

const WORDS_MAX = 32;
/** Texts with lower scores are similar only by coincidence. */
const SCORE_MIN = 0.2;
/** The score of a body that contains every word of the question. A title that is the question scores 1. */
const BODY_SHARE = 0.7;

/** A longer question is shortened. */
const QUESTION_LENGTH_MAX = 4096;

/** A text that is similar, before its question and answer are read. */
interface Match {
  kind: Suggestion['kind'];
  id: number;
  score: number;
}

/** The answered questions and documents that are most similar to a notification's question, best first. */
export async function suggestAnswers(
  queries: Queries,
  merchantId: MerchantId,
  notificationId: number,
  limit: number,
): Promise<Suggestion[]> {
  const notification = await queries.one<{ context: string }>(
    'select context from notifications where merchant_id = $1 and id = $2',
    [merchantId, notificationId],
  );
  if (!notification) throw notificationNotFound();
  const matches = await findMatches(queries, merchantId, askedIn(notification.context));
  const others = matches.filter(({ kind, id }) => kind === 'document' || id !== notificationId);
  return readSuggestions(queries, merchantId, others, limit);
}

/** The documents that are most similar to a question, best first. */
export async function suggestDocuments(
  queries: Queries,
  merchantId: MerchantId,
  question: string,
  limit: number,
): Promise<Suggestion[]> {
  const matches = await findMatches(queries, merchantId, question);
  const documents = matches.filter(({ kind }) => kind === 'document');
  return readSuggestions(queries, merchantId, documents, limit);
}

/** Best first. */
async function findMatches(queries: Queries, merchantId: MerchantId, question: string): Promise<Match[]> {
  const words = stemsOf(question, WORDS_MAX);
  if (words.length === 0) return [];

  const groups = words.map((word) => [{ word }]);
  const [ofDocuments, ofQuestions] = await Promise.all([
    countRows(queries, merchantId, 'documents', groups),
    countRows(queries, merchantId, 'answered_questions', groups),
  ]);
  const total = ofDocuments.total + ofQuestions.total;
  const asked = weigh(
    words,
    words.map((_, index) => rarity(total, ofDocuments.found[index]! + ofQuestions.found[index]!)),
  );
  const [documents, questions] = await Promise.all([
    findCandidates<{ id: number; title_words: string; words: string }>(queries, merchantId, {
      table: 'documents',
      columns: `id, title_words, ${comparedWords('words')} as words`,
      groups,
      found: ofDocuments.found,
    }),
    findCandidates<{ id: number; words: string }>(queries, merchantId, {
      table: 'answered_questions',
      columns: `notification_id as id, ${comparedWords('words')} as words`,
      groups,
      found: ofQuestions.found,
    }),
  ]);

  const pause = inSlices();
  const matches: Match[] = [];
  const add = (kind: Match['kind'], id: number, exact: number) => {
    // Three digits are enough. Rounding errors may exceed 1.
    const score = Math.min(1, Math.round(exact * 1000) / 1000);
    if (score >= SCORE_MIN) matches.push({ kind, id, score });
    return pause();
  };
  for (const row of documents) await add('document', row.id, documentScore(asked, row));
  for (const row of questions) await add('notification', row.id, similarity(asked, row.words.split(' ')));
  return matches.sort(better);
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

function askedIn(contextText: string): string {
  const context = JSON.parse(contextText) as Record<string, unknown>;
  const asked = [context.question, context.support_request_reason];
  return asked.find((text): text is string => typeof text === 'string' && text.trim() !== '') ?? '';
}

const documentScore = (
  asked: WeightedWords,
  { title_words, words }: { title_words: string; words: string },
) => Math.max(similarity(asked, title_words.split(' ')), BODY_SHARE * coverage(asked, words.split(' ')));

/** With equal scores, documents come first, because the assistant uses them; then the newest. */
const better = (a: Match, b: Match) =>
  b.score - a.score || (a.kind === b.kind ? b.id - a.id : a.kind === 'document' ? -1 : 1);

export interface Answered {
  notificationId: number;
  question: string;
  answer: string;
}

/**
 * Stores an answered question for suggestions. It is deleted with its notification. `after` is a step that is
 * `returning` the merchant and id of the notification. If given, the question is stored only if it returned a row.
 */
export const rememberAnswered = (
  merchantId: MerchantId,
  { notificationId, question, answer }: Answered,
  after?: string,
): Step => ({
  name: 'answered_question',
  rows: {
    columns: {
      merchant_id: 'bigint',
      notification_id: 'bigint',
      question: 'text',
      answer: 'text',
      words: 'text',
    },
    values: [
      {
        merchant_id: merchantId,
        notification_id: notificationId,
        question: storableText(question.slice(0, QUESTION_LENGTH_MAX)),
        answer: storableText(answer),
        words: stemsOf(question, WORDS_MAX).join(' '),
      },
    ],
  },
  // Without `where`, SQLite reads `on` as part of a join.
  sql: `insert into answered_questions (merchant_id, notification_id, question, answer, words)
    select r.merchant_id, r.notification_id, r.question, r.answer, r.words from answered_question_rows r
      ${after ? `join ${after} a on a.merchant_id = r.merchant_id and a.id = r.notification_id` : ''} where true
    on conflict (merchant_id, notification_id) do update
      set question = excluded.question, answer = excluded.answer, words = excluded.words
    returning notification_id`,
});
