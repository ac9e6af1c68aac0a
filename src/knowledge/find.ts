import type { Candidate } from '../contract/find.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import type { Confidence } from './confidence/confidence.ts';
import { CONFIDENT_MIN } from './confidence/threshold.ts';
import { suggestDocuments } from './suggestions.ts';

/** Two documents that both fit may say different things. */
const LEAD_MIN = 0.05;

/** What the knowledge base has on a question, best first. Only the best one can be safe to give without a person. */
export async function findAnswers(
  queries: Queries,
  confidence: Confidence,
  merchantId: MerchantId,
  question: string,
  limit: number,
): Promise<Candidate[]> {
  const found = await suggestDocuments(queries, merchantId, question, Math.max(limit, 2));
  const isConfident = await isSafe(confidence, merchantId, found);
  return found.slice(0, limit).map(({ id, question: title, answer, score }, index) => ({
    document_id: id,
    question: title,
    answer,
    score,
    confident: index === 0 && isConfident,
  }));
}

async function isSafe(
  confidence: Confidence,
  merchantId: MerchantId,
  [best, second]: readonly { score: number }[],
): Promise<boolean> {
  // No threshold allows these, so it is not read.
  if (!best || best.score < CONFIDENT_MIN || best.score - (second?.score ?? 0) < LEAD_MIN) return false;
  const { threshold } = await confidence.read(merchantId);
  return threshold !== null && best.score >= threshold;
}
