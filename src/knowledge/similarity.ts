import type { Term } from './words.ts';

/** How rare words are, and how similar two texts are. Pure functions, so both engines return the same. */

/** The weight of a word: the fewer texts contain it, the higher. */
export const rarity = (total: number, found: number) => Math.log(1 + total / Math.max(found, 0.5));

/** The weights of a question's words. */
export interface WeightedWords {
  weights: ReadonlyMap<string, number>;
  sum: number;
}

export function weigh(words: readonly string[], weights: readonly number[]): WeightedWords {
  return {
    weights: new Map(words.map((word, index) => [word, weights[index]!])),
    sum: weights.reduce((sum, weight) => sum + weight, 0),
  };
}

/**
 * From 0, nothing in common, to 1, the same words. A word that is not in the question gets the average weight of the
 * question's words, because looking up the rarity of each word would cost too much.
 */
export function similarity(question: WeightedWords, words: readonly string[]): number {
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

/** From 0 to 1: how much of the question a text contains, no matter how long it is. */
export function coverage(question: WeightedWords, words: readonly string[]): number {
  if (question.sum === 0) return 0;
  let common = 0;
  for (const word of words) common += question.weights.get(word) ?? 0;
  return common / question.sum;
}

/** Whether the words contain one of the terms. */
export function hasTerm(words: readonly string[], terms: readonly Term[]): boolean {
  return terms.some((term) =>
    words.some((word) => (term.isPrefix ? word.startsWith(term.word) : word === term.word)),
  );
}
