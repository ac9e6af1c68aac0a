import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareTrend, speedTrend } from '../../dashboard/src/overview/trend.ts';
import type { OverviewWeek } from '../../src/contract/overview.ts';

const week = (
  median_seconds: number | null,
  answered = 20,
  assistant_share: number | null = 0.5,
): OverviewWeek => ({
  ...{ from: '2026-01-09', to: '2026-01-15', asked: 20, answered, resolved: 0, answered_by_assistant: 20 },
  ...{ assistant_share, median_seconds, p90_seconds: median_seconds },
});
const weeks = (...given: OverviewWeek[]) => given;

test('the last week is compared with four weeks ago', () => {
  const others = [week(1), week(2), week(3)];
  const faster = speedTrend(weeks(week(1000), ...others, week(660)));
  assert.deepEqual({ ...faster, change: 0.34 }, { kind: 'faster', change: 0.34, seconds: 660, before: 1000 });
  assert.ok(faster.kind === 'faster' && Math.abs(faster.change - 0.34) < 1e-9);
  assert.equal(speedTrend(weeks(week(600), ...others, week(900))).kind, 'slower');
  assert.deepEqual(speedTrend(weeks(week(600), ...others, week(590))), { kind: 'same', seconds: 590 });
});

test('a week with few answers says nothing', () => {
  const others = [week(1), week(2), week(3)];
  for (const [first, last] of [
    [week(1000, 4), week(600)],
    [week(1000), week(600, 4)],
    [week(null), week(600)],
    [week(1000), week(null)],
  ] as const)
    assert.deepEqual(speedTrend(weeks(first, ...others, last)), { kind: 'unknown' });
  assert.deepEqual(speedTrend([]), { kind: 'unknown' });
});

test('the share of the assistant is told without a comparison if nothing was asked then', () => {
  const others = [week(1), week(2), week(3)];
  assert.deepEqual(shareTrend(weeks(week(1, 20, 0.4), ...others, week(1, 20, 0.6))), {
    now: 0.6,
    before: 0.4,
  });
  assert.deepEqual(shareTrend(weeks(week(1, 20, null), ...others, week(1, 20, 0.6))), {
    now: 0.6,
    before: null,
  });
  assert.equal(shareTrend(weeks(week(1, 20, null))), null);
});
