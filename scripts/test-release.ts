/**
 * `npm run test:release`: what takes too long for every change. Run it before a release, and after a change to what it
 * tests. The last line is "N passed, N failed", of its parts.
 *
 *   --guards      only what guards acknowledged data: kills, outages, races, upgrades. CI runs this after `npm test`
 *   --only part   one part: tests, faults, mutations or soak
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

interface Part {
  name: string;
  what: string;
  args: string[];
  /** Instead of `args`, with `--guards`. Parts without it are left out then. */
  guards?: string[];
}

const { values } = parseArgs({
  options: { only: { type: 'string' }, guards: { type: 'boolean', default: false } },
});
const root = fileURLToPath(new URL('..', import.meta.url));
const testsIn = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: ['test/release/faults/**'] }).sort();

const PARTS: readonly Part[] = [
  {
    name: 'tests',
    what: 'servers that are killed, databases of earlier versions, deployments',
    args: ['scripts/test.ts', '--validate', ...testsIn('test/release/**/*.test.ts')],
    guards: ['scripts/test.ts', ...testsIn('test/release/{kills,database}/**/*.test.ts')],
  },
  {
    name: 'faults',
    what: 'everything around the service fails, under load',
    args: ['scripts/faults.ts'],
    guards: ['scripts/faults.ts', '--only', 'kills,outages,failover,races,upgrades'],
  },
  {
    name: 'mutations',
    what: 'a sample of the bugs that the tests must notice',
    args: ['scripts/mutations.ts', '--sample', '40'],
  },
  { name: 'soak', what: 'half an hour under load', args: ['bench/main.ts', '--soak', '30'] },
];

if (values.only !== undefined && !PARTS.some(({ name }) => name === values.only))
  throw new Error(`--only accepts ${PARTS.map(({ name }) => name).join(', ')}, not ${values.only}.`);
const parts = PARTS.filter(
  ({ name, guards }) => (values.only ?? name) === name && (!values.guards || guards),
);
const failed: string[] = [];
for (const { name, what, args, guards } of parts) {
  console.log(`\n${name}: ${what}`);
  const { status } = spawnSync(process.execPath, values.guards ? guards! : args, {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) failed.push(name);
}
for (const name of failed) console.log(`\n✖ ${name}`);
console.log(`\n${parts.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);
