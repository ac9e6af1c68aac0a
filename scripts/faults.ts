/**
 * `npm run test:faults`: causes faults around real servers and databases, and counts what happens. The last line is
 * "N passed, N failed"; the exit code is 1 if anything failed.
 *
 *   --only kills,…            only these faults
 *   --engine sqlite|postgres  only this engine
 *   --write                   writes the results to docs/faults.json
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Finding } from '../test/release/faults/fault.ts';
import { findOrInstall, startPostgres } from './services.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    engine: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const program = findOrInstall('postgres', 'postgresql');
if (!program) throw new Error('PostgreSQL was not found. Install it and run again.');
const postgres = await startPostgres(program, { durable: true });
process.env.TEST_POSTGRESQL_URL = postgres.url;
// Imported only now, because the test harness reads that address when it is loaded.
const { FAULTS } = await import('../test/release/faults/all.ts');
const { holds, lineOf, mayRetry } = await import('../test/release/faults/fault.ts');

const names = FAULTS.map(({ name }) => name);
const requested = values.only?.split(',') ?? names;
let passed = 0;
let failed = 0;
const results: object[] = [];
try {
  const unknown = requested.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`--only accepts ${names.join(', ')}, not ${unknown}.`);
  for (const { name, title, engines, run } of FAULTS.filter(({ name }) => requested.includes(name))) {
    for (const engine of engines.filter((each) => (values.engine ?? each) === each)) {
      console.log(`\n${name}: ${title} (${engine})`);
      let result = await runOnce(() => run(engine, 'full'));
      if (mayRetry(result.findings)) {
        console.log('Second try:');
        result = await runOnce(() => run(engine, 'full'));
      }
      if (result.ok) passed += 1;
      else failed += 1;
      results.push({ name, title, engine, ...result });
    }
  }
} finally {
  await postgres.stop();
}
async function runOnce(run: () => Promise<Finding[]>) {
  const startedAt = Date.now();
  let findings: Finding[] = [];
  let ok = false;
  try {
    findings = await run();
    ok = findings.every(holds);
  } catch (error) {
    console.log(error);
    // Without any figure the fault has failed.
    findings = [{ what: 'completed', value: 0, atLeast: 1 }];
  }
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  for (const finding of findings) console.log(lineOf(finding));
  console.log(`${ok ? '✔' : '✖'} ${seconds} s`);
  return { seconds, ok, findings };
}

if (values.write) {
  const file = new URL('../docs/faults.json', import.meta.url);
  writeFileSync(file, `${JSON.stringify({ takenAt: new Date().toISOString(), results }, null, 2)}\n`);
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
