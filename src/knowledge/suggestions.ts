import type { MerchantId } from '../contract/ids.ts';
import type { Suggestion } from '../contract/knowledge.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { notificationNotFound } from '../errors.ts';
import { findCandidates } from './candidates.ts';
import { countRows } from './fulltext.ts';
import { coverage, rarity, similarity, type WeightedWords, weigh } from './similarity.ts';
import { stemsOf } from './words.ts';

const WORDS_MAX = 32;
/** Texts with lower scores are similar only by coincidence. */
const SCORE_MIN = 0.2;
/** The score of a body that contains every word of the question. A title that is the question scores 1. */
const BODY_SHARE = 0.7;

interface Candidate {
  id: number;
  question: string;
  answer: string;
  words: string;
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
  const suggestions = await suggestFor(queries, merchantId, askedIn(notification.context));
  return suggestions.filter(({ kind, id }) => kind === 'document' || id !== notificationId).slice(0, limit);
}

/** The same for any question, without a limit. */
export async function suggestFor(
  queries: Queries,
  merchantId: MerchantId,
  question: string,
): Promise<Suggestion[]> {
  const words = stemsOf(question).slice(0, WORDS_MAX);
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
    findCandidates<Candidate & { title_words: string }>(queries, merchantId, {
      table: 'documents',
      columns: 'id, title as question, body as answer, title_words, words',
      groups,
      found: ofDocuments.found,
    }),
    findCandidates<Candidate>(queries, merchantId, {
      table: 'answered_questions',
      columns: 'notification_id as id, question, answer, words',
      groups,
      found: ofQuestions.found,
    }),
  ]);

  const suggestions = [
    ...documents.map((row) => suggestion('document', row, documentScore(asked, row))),
    ...questions.map((row) => suggestion('notification', row, similarity(asked, row.words.split(' ')))),
  ];
  return withoutRepeats(suggestions.filter(({ score }) => score >= SCORE_MIN).sort(better));
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

const suggestion = (kind: Suggestion['kind'], { id, question, answer }: Candidate, score: number) => ({
  kind,
  id,
  question,
  answer,
  // Three digits are enough. Rounding errors may exceed 1.
  score: Math.min(1, Math.round(score * 1000) / 1000),
});

/** With equal scores, documents come first, because the assistant uses them; then the newest. */
const better = (a: Suggestion, b: Suggestion) =>
  b.score - a.score || (a.kind === b.kind ? b.id - a.id : a.kind === 'document' ? -1 : 1);

/** An answer that became a document is listed only once. */
function withoutRepeats(sorted: readonly Suggestion[]): Suggestion[] {
  const seen = new Set<string>();
  return sorted.filter(({ question, answer }) => {
    const text = `${question}\n${answer}`;
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

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
        question: storableText(question),
        answer: storableText(answer),
        words: stemsOf(question).slice(0, WORDS_MAX).join(' '),
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
