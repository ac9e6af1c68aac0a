/** How long answers took, as counts of times of similar length. Pure. */

/** Number n counts the times from 2^(n/4) seconds on, so a time is known to about 10%. */
const STEPS_PER_DOUBLING = 4;

export type Histogram = ReadonlyMap<number, number>;

/** The time within which this share of the answers came, in seconds. Null without answers. */
export function percentileOf(histogram: Histogram, share: number): number | null {
  const steps = [...histogram].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  const total = steps.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  for (const [number, count] of steps) {
    const within = (share * total - before) / count;
    if (within <= 1) return Math.round(2 ** ((number + within) / STEPS_PER_DOUBLING));
    before += count;
  }
  return Math.round(2 ** ((steps.at(-1)![0] + 1) / STEPS_PER_DOUBLING));
}
