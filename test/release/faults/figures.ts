/** The value that the given share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * The probability that a random value of the first list is larger than one of the second: 0.5 if the lists do not
 * differ, 1 or 0 if they differ completely. (The Mann-Whitney U statistic, over all pairs.)
 */
export function auc(ones: readonly number[], others: readonly number[]): number {
  let sum = 0;
  for (const one of ones) for (const other of others) sum += one > other ? 1 : one === other ? 0.5 : 0;
  return sum / (ones.length * others.length);
}

/** The standard error of the AUC between two lists of these lengths that do not differ. */
export const aucStandardError = (ones: number, others: number): number =>
  Math.sqrt((ones + others + 1) / (12 * ones * others));
