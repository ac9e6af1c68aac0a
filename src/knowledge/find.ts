import type { Candidate } from '../contract/find.ts';
import type { MerchantId } from '../contract/ids.ts';
import { likenessOf } from './ranking/sameQuestion.ts';
import { type SuggestionParts, suggestDocuments } from './suggestions.ts';

/** The title is the question, except for an unimportant word. */
const CONFIDENT_SCORE = 0.9;
/** Two documents that both fit may say different things. */
const LEAD_MIN = 0.05;

/** What the knowledge base has on a question, best first. Only the best one can be safe to give without a person. */
export async function findAnswers(
  parts: SuggestionParts,
  merchantId: MerchantId,
  question: string,
  limit: number,
): Promise<Candidate[]> {
  const found = await suggestDocuments(parts, merchantId, question, Math.max(limit, 2));
  const [best, second] = found;
  const isConfident =
    best !== undefined &&
    best.score >= CONFIDENT_SCORE &&
    best.score - (second?.score ?? 0) >= LEAD_MIN &&
    likenessOf(question, [best.question]) === 'same';
  return found.slice(0, limit).map(({ id, question: title, answer, score }, index) => ({
    document_id: id,
    question: title,
    answer,
    score,
    confident: index === 0 && isConfident,
  }));
}
