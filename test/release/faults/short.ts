import assert from 'node:assert/strict';
import { it } from 'node:test';
import { engines } from '../../support/databases.ts';
import { type Fault, holds, lineOf, mayRetry } from './fault.ts';

/** Declares the short version of a fault as a test on each engine that it applies to. */
export function testShort({ title, engines: faultEngines, run }: Fault): void {
  for (const engine of engines.filter((name) => faultEngines.includes(name))) {
    it(`${title} (${engine})`, { timeout: 600_000 }, async () => {
      let findings = await run(engine, 'short');
      if (mayRetry(findings)) findings = await run(engine, 'short');
      assert.ok(findings.every(holds), `\n${findings.map(lineOf).join('\n')}`);
    });
  }
}
