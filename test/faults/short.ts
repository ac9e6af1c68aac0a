import assert from 'node:assert/strict';
import { it } from 'node:test';
import { engines } from '../harness.ts';
import { type Fault, holds, lineOf, mayTryAgain } from './fault.ts';

/** Declares the short form of a fault as a test on each of its engines. */
export function testShort({ title, engines: itsEngines, run }: Fault): void {
  for (const engine of engines.filter((name) => itsEngines.includes(name))) {
    it(`${title} (${engine})`, { timeout: 600_000 }, async () => {
      let findings = await run(engine, 'short');
      if (mayTryAgain(findings)) findings = await run(engine, 'short');
      assert.ok(findings.every(holds), `\n${findings.map(lineOf).join('\n')}`);
    });
  }
}
