/**
 * `npm run test:faults`: everything that may go wrong goes wrong, against real servers and databases, and is
 * counted. Ends with "N passed, N failed" on a line, and with 1 if anything failed.
 *
 *   --only kills,…            only these
 *   --engine sqlite|postgres  only this one
 *   --write                   the tallies into docs/faults.json
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Finding } from '../test/faults/fault.ts';
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
// Only now: the harness reads that address as it is loaded.
const { FAULTS } = await import('../test/faults/all.ts');
const { holds, lineOf, mayTryAgain } = await import('../test/faults/fault.ts');

const names = FAULTS.map(({ name }) => name);
const asked = values.only?.split(',') ?? names;
let passed = 0;
let failed = 0;
const tallies: object[] = [];
try {
  const unknown = asked.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`--only takes some of ${names.join(', ')}, not ${unknown}.`);
  for (const { name, title, engines, run } of FAULTS.filter(({ name }) => asked.includes(name))) {
    for (const engine of engines.filter((each) => (values.engine ?? each) === each)) {
      console.log(`\n${name}: ${title} (${engine})`);
      let tally = await tallyOf(() => run(engine, 'full'));
      if (mayTryAgain(tally.findings)) {
        console.log('once more:');
        tally = await tallyOf(() => run(engine, 'full'));
      }
      if (tally.good) passed += 1;
      else failed += 1;
      tallies.push({ name, title, engine, ...tally });
    }
  }
} finally {
  await postgres.stop();
}
async function tallyOf(run: () => Promise<Finding[]>) {
  const beganAt = Date.now();
  let findings: Finding[] = [];
  let good = false;
  try {
    findings = await run();
    good = findings.every(holds);
  } catch (error) {
    console.log(error);
    // No figure at all is no figure within its bounds.
    findings = [{ what: 'went through', value: 0, atLeast: 1 }];
  }
  const seconds = Math.round((Date.now() - beganAt) / 1000);
  for (const finding of findings) console.log(lineOf(finding));
  console.log(`${good ? '✔' : '✖'} ${seconds} s`);
  return { seconds, good, findings };
}

if (values.write) {
  const file = new URL('../docs/faults.json', import.meta.url);
  writeFileSync(file, `${JSON.stringify({ takenAt: new Date().toISOString(), tallies }, null, 2)}\n`);
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
