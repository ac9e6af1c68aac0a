import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CONFIDENT_DEFAULT, CONFIDENT_MIN, learnThreshold, type Outcome, thresholdFor } from './threshold.ts';

const many = (count: number, score: number, isRight: boolean): Outcome[] =>
  Array.from({ length: count }, () => ({ score, isRight }));
const learned = (...outcomes: Outcome[][]) => learnThreshold(outcomes.flat()).threshold;

const score = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
);
const outcome = fc.record({ score, isRight: fc.boolean() });
/** Mostly right, so that there often is a threshold. */
const likely = fc.record({
  score,
  isRight: fc.oneof({ weight: 30, arbitrary: fc.constant(true) }, fc.boolean()),
});
const outcomes = fc.oneof(fc.array(outcome, { maxLength: 60 }), fc.array(likely, { maxLength: 200 }));
/** "Never" is above every score. */
const height = (threshold: number | null) => threshold ?? 2;

describe('the learned threshold', () => {
  it('is the default without enough evidence', () => {
    assert.equal(learned(), CONFIDENT_DEFAULT);
    assert.equal(learned(many(17, 0.7, true)), CONFIDENT_DEFAULT);
    assert.equal(learned(many(500, 0.2, true)), CONFIDENT_DEFAULT);
  });

  it('goes down to where 18 right answers without a wrong one begin, but not below the floor', () => {
    assert.equal(learned(many(18, 0.7, true)), 0.7);
    assert.equal(learned(many(18, 0.734, true)), 0.73);
    assert.equal(learned(many(18, 0.4, true), many(18, 0.509, true)), 0.5);
    for (let step = 50; step <= 89; step += 1) assert.equal(learned(many(18, step / 100, true)), step / 100);
  });

  it('does not go down to where only two were right', () => {
    assert.equal(learned(many(30, 0.8, true), many(2, 0.6, true)), 0.8);
  });

  it('does not go down to where too many were wrong', () => {
    assert.equal(learned(many(40, 0.8, true), many(10, 0.7, false)), 0.8);
    assert.equal(learned(many(36, 0.8, true), many(2, 0.8, false)), CONFIDENT_DEFAULT);
  });

  it('rises above wrong answers that the default would give, up to never', () => {
    assert.equal(learned(many(1, 0.92, false)), CONFIDENT_DEFAULT);
    assert.equal(learned(many(2, 0.92, false)), 0.93);
    assert.equal(learned(many(2, 1, false)), null);
    assert.equal(learned(many(2, 1, false), many(19, 1, true)), CONFIDENT_DEFAULT);
  });

  it('counts right and wrong ones', () => {
    const { right, wrong } = learnThreshold([...many(3, 0.1, true), ...many(2, 0.9, false)]);
    assert.deepEqual([right, wrong], [3, 2]);
  });

  it('gives way to the merchant’s own setting', () => {
    const evidence = learnThreshold(many(18, 0.7, true));
    assert.deepEqual(
      (['learned', 'off', 0.6] as const).map((setting) => thresholdFor(setting, evidence)),
      [0.7, null, 0.6],
    );
  });
});

describe('the learned threshold, for any outcomes', () => {
  it('does not depend on their order', () => {
    fc.assert(
      fc.property(outcomes, fc.infiniteStream(fc.nat()), (all, random) => {
        const shuffled = all
          .map((one) => ({ one, at: random.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
        assert.deepEqual(learnThreshold(shuffled), learnThreshold(all));
      }),
    );
  });

  it('never falls by a wrong one, and never rises by a right one', () => {
    fc.assert(
      fc.property(outcomes, score, (all, at) => {
        const before = height(learnThreshold(all).threshold);
        const withWrong = learnThreshold([...all, { score: at, isRight: false }]).threshold;
        const withRight = learnThreshold([...all, { score: at, isRight: true }]).threshold;
        assert.ok(height(withWrong) >= before, `${withWrong} after a wrong one`);
        assert.ok(height(withRight) <= before, `${withRight} after a right one`);
      }),
    );
  });

  it('is a score from the floor to 1, or never', () => {
    fc.assert(
      fc.property(outcomes, (all) => {
        const { threshold } = learnThreshold(all);
        assert.ok(threshold === null || (threshold >= CONFIDENT_MIN && threshold <= 1), String(threshold));
      }),
    );
  });

  it('keeps 95% of what is above it right, if it is below the default', () => {
    fc.assert(
      fc.property(outcomes, (all) => {
        const { threshold } = learnThreshold(all);
        if (threshold === null || threshold >= CONFIDENT_DEFAULT) return;
        const above = all.filter((one) => one.score >= threshold);
        const right = above.filter(({ isRight }) => isRight).length;
        assert.ok((right + 1) / (above.length + 2) >= 0.95 - 1e-9);
        assert.ok(right >= 18);
      }),
    );
  });

  it('ignores scores below the floor', () => {
    fc.assert(
      fc.property(outcomes, (all) => {
        const above = all.filter((one) => one.score >= CONFIDENT_MIN);
        assert.equal(learnThreshold(all).threshold, learnThreshold(above).threshold);
      }),
    );
  });
});
