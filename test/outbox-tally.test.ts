import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runFaults } from './faults/run.ts';
import { isClean, linesOf } from './faults/tally.ts';
import { onEachEngine } from './harness.ts';

// The long form: npm run test:faults.
onEachEngine('300 answers under kills and a channel that errs', (engine) => {
  it('are each delivered, and every duplicate is explained', { timeout: 180_000 }, async (t) => {
    const tally = await runFaults({
      engine,
      answers: 300,
      killsMax: 3,
      killEveryMs: [800, 1600],
      timeOuts: false,
      haste: { retryMs: 300, settleMs: 2000, leaseMs: 4000 },
    });
    for (const line of linesOf(tally)) t.diagnostic(line);
    assert.ok(isClean(tally), JSON.stringify(tally, null, 2));
    assert.ok(tally.duplicates <= tally.unknownOutcomes);
    assert.ok(tally.kills > 0);
  });
});
