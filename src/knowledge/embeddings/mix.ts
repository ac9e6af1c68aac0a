import type { QuestionVector } from './questions.ts';
import { cosine } from './vectors.ts';

/**
 * How a cosine becomes a score. Models differ: e5 gives 0.7 and more to unrelated texts, OpenAI's 0.1. So 0 is the median
 * of what this question has in common with unrelated sentences and with all of the merchant's documents, most of which
 * do not answer it; 1 is the same text. With few documents the sentences decide, with many the documents do.
 */
export function calibrate(
  cosines: ReadonlyMap<number, number>,
  { vector, background }: QuestionVector,
): Map<number, number> {
  const unrelated = background.flatMap((sentence) => cosine(vector, sentence) ?? []);
  const floor = median([...unrelated, ...cosines.values()]);
  const scores = new Map<number, number>();
  for (const [id, value] of cosines) {
    const above = (value - floor) / (1 - floor);
    const score = curve(above);
    if (score > 0) scores.set(id, score);
  }
  return scores;
}

/** Linear: what is below `NOTHING` is noise, from `SAME` on the texts mean the same. */
const NOTHING = 0.25;
const SAME = 0.75;
const curve = (above: number): number => Math.min(1, Math.max(0, (above - NOTHING) / (SAME - NOTHING)));

/**
 * What meaning can add at most. Texts with no word in common stay below 0.9, so meaning alone is never a reason to
 * answer without a person unless the merchant's own threshold says so.
 */
const MEANING_MAX = 0.8;

/** Words and meaning are independent evidence: each raises the score by a part of what the other left. */
export const mixScore = (byWords: number, byMeaning: number): number =>
  byWords + (1 - byWords) * MEANING_MAX * byMeaning;

/** All documents with a score by words or by meaning. */
export function mixScores(
  byWords: ReadonlyMap<number, number>,
  byMeaning: ReadonlyMap<number, number>,
): Map<number, number> {
  const mixed = new Map(byWords);
  for (const [id, score] of byMeaning) mixed.set(id, mixScore(byWords.get(id) ?? 0, score));
  return mixed;
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1]!;
}
