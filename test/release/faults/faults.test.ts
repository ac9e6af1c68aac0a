/** The short version of each fault, for single runs (`--test-name-pattern`) and for the planted bugs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { engines } from '../../support/databases.ts';
import { FAULTS } from './all.ts';
import { holds, lineOf, mayRetry } from './fault.ts';

for (const { name, title, engines: faultEngines, run } of FAULTS) {
  for (const engine of engines.filter((one) => faultEngines.includes(one))) {
    it(`${name}: ${title} (${engine})`, { timeout: 600_000 }, async () => {
      let findings = await run(engine, 'short');
      if (mayRetry(findings)) findings = await run(engine, 'short');
      assert.ok(findings.every(holds), `\n${findings.map(lineOf).join('\n')}`);
    });
  }
}
