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
const { holds, lineOf } = await import('../test/faults/fault.ts');

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
      const beganAt = Date.now();
      const findings = await run(engine, 'full').catch((error) => {
        console.log(error);
        return undefined;
      });
      const seconds = Math.round((Date.now() - beganAt) / 1000);
      const good = findings?.every(holds) ?? false;
      if (good) passed += 1;
      else failed += 1;
      for (const finding of findings ?? []) console.log(lineOf(finding));
      console.log(`${good ? '✔' : '✖'} ${seconds} s`);
      tallies.push({ name, title, engine, seconds, good, findings: findings ?? [] });
    }
  }
} finally {
  await postgres.stop();
}
if (values.write) {
  const file = new URL('../docs/faults.json', import.meta.url);
  writeFileSync(file, `${JSON.stringify({ takenAt: new Date().toISOString(), tallies }, null, 2)}\n`);
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
