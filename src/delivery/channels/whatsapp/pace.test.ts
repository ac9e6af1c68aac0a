import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBucket, createPace } from './pace.ts';

describe('the pace', () => {
  it('gives a burst, then one by one, and says exactly how long the next one takes', () => {
    const bucket = createBucket(3, 2);
    assert.deepEqual(
      [0, 0, 0, 0].map(() => bucket.take(1000)),
      [0, 0, 0, 500],
    );
    assert.deepEqual([bucket.take(1499), bucket.take(1500), bucket.take(1500)], [1, 0, 500]);
    // Rest does not add up beyond the burst.
    assert.deepEqual(
      [0, 0, 0, 0].map(() => bucket.take(99_000)),
      [0, 0, 0, 500],
    );
  });

  it('is not confused by a clock that goes back', () => {
    const bucket = createBucket(1, 1);
    assert.equal(bucket.take(5000), 0);
    assert.equal(bucket.take(1000), 1000);
    assert.equal(bucket.take(2000), 0);
  });

  it('lets no more than 80 messages of a number out in any second', () => {
    const { number } = createPace(() => new Date(0));
    const sentAt: number[] = [];
    for (let ms = 0; ms < 4000; ms += 1) while (number.take(ms) === 0) sentAt.push(ms);
    for (const from of sentAt) {
      assert.ok(sentAt.filter((at) => at >= from && at < from + 1000).length <= 80);
    }
    assert.ok(sentAt.length >= 4 * 75);
  });

  it('lets 45 messages out to one customer at once, then one in six seconds, and others meanwhile', () => {
    const pace = createPace(() => new Date(0));
    const one = () => pace.customer('+1').take(0);
    for (let sent = 0; sent < 45; sent += 1) assert.equal(one(), 0);
    assert.equal(one(), 6000);
    assert.equal(pace.customer('+2').take(0), 0);
    assert.equal(pace.customer('+1').take(6000), 0);
    assert.equal(pace.customer('+1').take(6000), 6000);
  });

  it('forgets customers who have rested, and no others', () => {
    let ms = 0;
    const pace = createPace(() => new Date(ms));
    for (let n = 0; n < 10_000; n += 1) pace.customer(`+${n}`).take(ms);
    ms = 7000;
    for (let sent = 0; sent < 45; sent += 1) pace.customer('+0').take(ms);
    pace.customer('+new');
    assert.equal(pace.customer('+0').take(ms), 6000);
  });
});
