/** The value that this share of all does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * How often a value of the one is larger than one of the other, drawn at random: 0.5 where nothing tells them
 * apart, 1 or 0 where everything does. (Mann and Whitney's U, over all pairs.)
 */
export function auc(ones: readonly number[], others: readonly number[]): number {
  let sum = 0;
  for (const one of ones) for (const other of others) sum += one > other ? 1 : one === other ? 0.5 : 0;
  return sum / (ones.length * others.length);
}

/** Of an AUC between so many values that nothing tells apart. */
export const aucStandardError = (ones: number, others: number): number =>
  Math.sqrt((ones + others + 1) / (12 * ones * others));
