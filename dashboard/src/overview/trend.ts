import type { OverviewWeek } from '../../../src/contract/overview.ts';

/** Whether it is getting better: the last week compared with four weeks ago. Pure. */

const WEEKS_BACK = 4;
/** Fewer answers say nothing. */
const ANSWERS_MIN = 5;
/** Smaller changes are luck. */
const CHANGE_MIN = 0.05;

export type SpeedTrend =
  | { kind: 'faster' | 'slower'; change: number; seconds: number; before: number }
  | { kind: 'same'; seconds: number }
  | { kind: 'unknown' };

export function speedTrend(weeks: readonly OverviewWeek[]): SpeedTrend {
  const last = weeks.at(-1);
  const earlier = weeks.at(-1 - WEEKS_BACK);
  if (!last || !earlier || last.median_seconds === null || earlier.median_seconds === null)
    return { kind: 'unknown' };
  if (last.answered < ANSWERS_MIN || earlier.answered < ANSWERS_MIN) return { kind: 'unknown' };
  const [seconds, before] = [last.median_seconds, earlier.median_seconds];
  const change = before === 0 ? 0 : 1 - seconds / before;
  if (Math.abs(change) < CHANGE_MIN) return { kind: 'same', seconds };
  return { kind: change > 0 ? 'faster' : 'slower', change: Math.abs(change), seconds, before };
}

/** The share that the assistant answers by itself now, and four weeks ago. Null without questions. */
export function shareTrend(weeks: readonly OverviewWeek[]): { now: number; before: number | null } | null {
  const now = weeks.at(-1)?.assistant_share ?? null;
  return now === null ? null : { now, before: weeks.at(-1 - WEEKS_BACK)?.assistant_share ?? null };
}
