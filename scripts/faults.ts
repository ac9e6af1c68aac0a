/**
 * `npm run test:faults`: thousands of answers on their way to customers while servers are killed at random
 * and the channel errs, then the count of what arrived. Ends with 1 if anything was lost.
 *
 *   npm run test:faults -- --answers 10000 --engine sqlite
 */
import { parseArgs } from 'node:util';
import { findOrInstall, startPostgres } from './services.ts';

const { values } = parseArgs({
  options: { answers: { type: 'string', default: '10000' }, engine: { type: 'string' } },
});
const answers = Number(values.answers);
if (!Number.isInteger(answers) || answers < 1) throw new Error('--answers must be a whole number above 0.');
const engines = (['sqlite', 'postgres'] as const).filter((name) => (values.engine ?? name) === name);
if (engines.length === 0) throw new Error('--engine must be sqlite or postgres.');

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const program = engines.includes('postgres') ? findOrInstall('postgres', 'postgresql') : undefined;
const postgres = program ? await startPostgres(program, { durable: true }) : undefined;
if (postgres) process.env.TEST_POSTGRESQL_URL = postgres.url;
// Only now: the harness reads that address as it is loaded.
const { runFaults } = await import('../test/faults/run.ts');
const { isClean, linesOf } = await import('../test/faults/tally.ts');

let clean = true;
try {
  for (const engine of engines) {
    if (engine === 'postgres' && !postgres) {
      console.log('PostgreSQL was not found: nothing ran on it.');
      clean = false;
      continue;
    }
    const beganAt = Date.now();
    const tally = await runFaults({
      engine,
      answers,
      killsMax: Number.POSITIVE_INFINITY,
      killEveryMs: [2000, 4000],
      timeOuts: true,
      // The lease is left longer than any attempt lasts, its time-out included.
      haste: { retryMs: 1000, settleMs: 4000, leaseMs: 13_000 },
    });
    const seconds = Math.round((Date.now() - beganAt) / 1000);
    const verdict = isClean(tally) ? 'nothing lost' : 'NOT CLEAN';
    console.log([`${engine}, ${seconds} s: ${verdict}`, ...linesOf(tally)].join('\n'));
    clean &&= isClean(tally);
  }
} finally {
  await postgres?.stop();
}
process.exit(clean ? 0 : 1);
