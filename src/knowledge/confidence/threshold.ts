import type { Confident } from '../../contract/merchant.ts';

/** How a merchant's threshold is learned: pure functions. */

export interface Outcome {
  score: number;
  isRight: boolean;
}

export interface Learned {
  /** From this score on, an answer is given without asking. Null: never. */
  threshold: number | null;
  /** The outcomes alone say so. Otherwise it is the default, which holds for the same question only. */
  isEarned: boolean;
  right: number;
  wrong: number;
}

/** Without evidence: the title is the question, except for an unimportant word. */
export const CONFIDENT_DEFAULT = 0.9;
/** No evidence makes a lower score safe: half of the question may be about something else. */
export const CONFIDENT_MIN = 0.5;

/** 95% of known answers are to be right. Whole numbers, so that 19 of 20 is exactly enough. */
const isEnough = (right: number, all: number) => right * 20 >= all * 19;
/** The default counts as if it had been right so often. So one wrong answer does not change it, but two do. */
const DEFAULT_RIGHT = 19;
/** A threshold below the default needs so many right ones just above it, the first of them at it: one lucky match is not enough. */
const NEARBY_RIGHT_MIN = 3;
const NEARBY = 0.05;
const STEPS = 100;

/**
 * The lowest threshold that keeps 95% of the answers above it right. Below the default it is estimated with one more
 * right and one more wrong answer, so it takes 18 right ones in a row. All outcomes count the same, whatever became of
 * their documents: the caller passes the newest ones.
 */
export function learnThreshold(outcomes: readonly Outcome[], byDefault = CONFIDENT_DEFAULT): Learned {
  const sorted = outcomes.toSorted((a, b) => b.score - a.score);
  let lowest: number | null = null;
  let isEarned = false;
  let right = 0;
  let wrong = 0;
  let next = 0;
  for (const threshold of thresholdsDownFromOne(byDefault)) {
    for (let one = sorted[next]; one && one.score >= threshold; one = sorted[++next]) {
      if (one.isRight) right += 1;
      else wrong += 1;
    }
    const all = right + wrong;
    const hasEarned = isEnough(right + 1, all + 2);
    const isKept =
      threshold >= byDefault
        ? isEnough(right + DEFAULT_RIGHT, all + DEFAULT_RIGHT)
        : hasEarned && isSupported(sorted, next, threshold);
    if (!isKept) continue;
    lowest = threshold;
    isEarned = hasEarned;
  }
  return {
    threshold: lowest,
    isEarned,
    right: outcomes.filter(({ isRight }) => isRight).length,
    wrong: outcomes.filter(({ isRight }) => !isRight).length,
  };
}

function thresholdsDownFromOne(byDefault: number): number[] {
  const grid = Array.from({ length: STEPS * (1 - CONFIDENT_MIN) + 1 }, (_, step) => (STEPS - step) / STEPS);
  return [...new Set([...grid, byDefault])].sort((a, b) => b - a);
}

/** `end`: the first of the sorted outcomes that is below the threshold. */
function isSupported(sorted: readonly Outcome[], end: number, threshold: number): boolean {
  const right: number[] = [];
  for (let index = end - 1; index >= 0 && right.length < NEARBY_RIGHT_MIN; index -= 1) {
    const { score, isRight } = sorted[index]!;
    if (score >= threshold + NEARBY) break;
    if (isRight) right.push(score);
  }
  return right.length === NEARBY_RIGHT_MIN && stepOf(right[0]!) === stepOf(threshold);
}

/** A hundredth more than 0.56 is a little less than 57 hundredths. */
const stepOf = (score: number) => Math.floor(score * STEPS + 1e-9);

/** The threshold in force. Null: nothing is answered without asking. */
export function thresholdFor(setting: Confident, learned: Learned): number | null {
  if (setting === 'off') return null;
  return setting === 'learned' ? learned.threshold : setting;
}
