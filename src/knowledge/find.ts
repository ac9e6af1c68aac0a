import type { Candidate } from '../contract/find.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Confidence } from './confidence/confidence.ts';
import { CONFIDENT_MIN } from './confidence/threshold.ts';
import { listWordings } from './documents/wordingRows.ts';
import { type Likeness, likenessOf } from './ranking/sameQuestion.ts';
import { type SuggestionParts, suggestDocuments } from './suggestions.ts';

/** Two documents that both fit may say different things. */
const LEAD_MIN = 0.05;
/** Below this, the best one says nothing about where the threshold should be. */
const RECOGNISED_SCORE_MIN = 0.3;

export interface FindParts extends SuggestionParts {
  confidence: Confidence;
}

export interface Found {
  /** Best first. Only the first can be safe to give without a person. */
  candidates: Candidate[];
  /** The first, if only its score decides whether it is safe. So whether it is right is evidence. */
  recognised: Candidate | undefined;
}

/** What the knowledge base has on a question. */
export async function findAnswers(
  parts: FindParts,
  merchantId: MerchantId,
  question: string,
  limit: number,
): Promise<Found> {
  const found = await suggestDocuments(parts, merchantId, question, Math.max(limit, 2));
  const candidates = found.map(({ id, question: title, answer, score }) => ({
    document_id: id,
    question: title,
    answer,
    score,
    confident: false,
  }));
  const [best, second] = candidates;
  const lead = best ? best.score - (second?.score ?? 0) : 0;
  if (!best || best.score < RECOGNISED_SCORE_MIN || lead < LEAD_MIN) {
    return { candidates: candidates.slice(0, limit), recognised: undefined };
  }
  const likeness = await likenessTo(parts, merchantId, best, question);
  best.confident = await isSafe(parts.confidence, merchantId, best.score, likeness);
  const recognised = likeness === 'different' ? undefined : best;
  return { candidates: candidates.slice(0, limit), recognised };
}

/** All wordings of the document count. Those beside its title are read only if they can make a difference. */
async function likenessTo(
  { database }: FindParts,
  merchantId: MerchantId,
  { document_id, question: title, score }: Candidate,
  question: string,
): Promise<Likeness> {
  const toTitle = likenessOf(question, [title]);
  if (toTitle === 'same' || score < CONFIDENT_MIN) return toTitle;
  const wordings = await listWordings(database, merchantId, document_id);
  return likenessOf(question, [title, ...wordings.map(({ text }) => text)]);
}

async function isSafe(
  confidence: Confidence,
  merchantId: MerchantId,
  score: number,
  likeness: Likeness,
): Promise<boolean> {
  // No threshold allows these, so it is not read.
  if (score < CONFIDENT_MIN || likeness === 'different') return false;
  const { threshold, isEarned } = await confidence.read(merchantId);
  return threshold !== null && score >= threshold && (isEarned || likeness === 'same');
}
