import type { Term } from './words.ts';

/** How much words tell, and how much two texts have in common. Pure, so that every engine agrees. */

/** What a word is worth by the share of texts that have it: one that stands in all tells little. */
export const rarity = (total: number, found: number) => Math.log(1 + total / Math.max(found, 0.5));

/** What a question's words weigh, for whatever it is compared with. */
export interface Weighed {
  weights: ReadonlyMap<string, number>;
  sum: number;
}

export function weigh(words: readonly string[], weights: readonly number[]): Weighed {
  return {
    weights: new Map(words.map((word, index) => [word, weights[index]!])),
    sum: weights.reduce((sum, weight) => sum + weight, 0),
  };
}

/**
 * From 0, nothing in common, to 1, the same words. A word that is not the question's weighs as much as the
 * question's average word: to look up the rarity of each would cost more than it tells.
 */
export function likeness(question: Weighed, words: readonly string[]): number {
  if (words.length === 0 || question.sum === 0) return 0;
  const average = question.sum / question.weights.size;
  let common = 0;
  let other = 0;
  for (const word of words) {
    const weight = question.weights.get(word);
    other += weight ?? average;
    common += weight ?? 0;
  }
  return common / Math.sqrt(question.sum * other);
}

/** From 0 to 1: how much of the question stands in a text, however long that is. */
export function coverage(question: Weighed, words: readonly string[]): number {
  if (question.sum === 0) return 0;
  let common = 0;
  for (const word of words) common += question.weights.get(word) ?? 0;
  return common / question.sum;
}

/** Whether one of the terms stands among the words. */
export function hasTerm(words: readonly string[], terms: readonly Term[]): boolean {
  return terms.some((term) =>
    words.some((word) => (term.begun ? word.startsWith(term.word) : word === term.word)),
  );
}
