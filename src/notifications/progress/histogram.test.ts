import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentileOf } from './histogram.ts';

const histogramOf = (seconds: readonly number[]) => {
  const counts = new Map<number, number>();
  for (const each of seconds) {
    const number = Math.floor(4 * Math.log2(Math.max(1, each)));
    counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  return counts;
};
const isNear = (found: number | null, wanted: number) =>
  assert.ok(found !== null && Math.abs(found / wanted - 1) < 0.2, `${found} instead of ${wanted}`);

test('the median and the 90th percentile are right to within a fifth', () => {
  const seconds = Array.from({ length: 1000 }, (_, n) => 10 + 7 * n);
  isNear(percentileOf(histogramOf(seconds), 0.5), 3510);
  isNear(percentileOf(histogramOf(seconds), 0.9), 6310);
  isNear(percentileOf(histogramOf([600]), 0.5), 600);
  isNear(percentileOf(histogramOf([60, 60, 60, 86_400]), 0.9), 86_400);
});

test('without answers there is no percentile, and answers that were taken back do not count', () => {
  assert.equal(percentileOf(new Map(), 0.5), null);
  assert.equal(percentileOf(new Map([[12, 0]]), 0.5), null);
  isNear(percentileOf(new Map([...histogramOf([60, 60]), [50, 0], [51, -1]]), 0.9), 60);
});
