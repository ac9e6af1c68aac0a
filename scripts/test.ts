/**
 * `npm test`: every test on both engines, and beside them types, lint and dead code. With arguments, only the test files
 * that they name. Ends with "N passed, N failed" on a line.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { findOrInstall, type Service, startPostgres, startRedis } from './services.ts';

const root = new URL('..', import.meta.url).pathname;
const asked = process.argv.slice(2);
const inCi = process.env.CI === 'true';
let passed = 0;
let failed = 0;
const missing: string[] = [];
const services: Service[] = [];

process.chdir(root);
// Every file of tests is a process that loads the whole service: sources are compiled once for all of them.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/node`;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

// Beside the tests: each of them keeps one core busy, and some tests do nothing but wait.
const checks = asked.length > 0 ? Promise.resolve([]) : checkSources();
await start('PostgreSQL', 'postgres', 'postgresql', (program) => startPostgres(program, { durable: false }));
await start('Redis', 'redis-server', 'redis-server', startRedis);
findBrowser();
buildDashboard();
try {
  await runTests(asked.length > 0 ? asked : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort());
  for (const line of await checks) console.log(line);
} finally {
  await Promise.all(services.map((service) => service.stop()));
}

for (const name of missing) {
  console.log(`\n!!! ${name} was not found: the tests that need it DID NOT RUN. Install it and run again.`);
  if (inCi) failed += 1;
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Gives what came of each, to be told behind the tests: in their midst nobody would see it. */
async function checkSources(): Promise<string[]> {
  return [
    await check('types', 'tsc', []),
    await check('types of the dashboard', 'tsc', ['-p', 'dashboard']),
    await check('lint and format', 'biome', ['check', '--error-on-warnings']),
    await check('dead code', 'knip', []),
  ];
}

async function check(title: string, program: string, args: string[]): Promise<string> {
  const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (text) => {
      said += text;
    });
  }
  const [status] = await once(child, 'close');
  if (status === 0) passed += 1;
  else failed += 1;
  return `${status === 0 ? '✔' : '✖'} ${title}${status === 0 ? '' : `\n${said}`}`;
}

async function start(
  title: string,
  program: string,
  debianPackage: string,
  launch: (program: string) => Promise<Service>,
): Promise<void> {
  const path = findOrInstall(program, debianPackage);
  if (!path) {
    missing.push(title);
    return;
  }
  const service = await launch(path);
  services.push(service);
  process.env[`TEST_${title.toUpperCase()}_URL`] = service.url;
}

/** Nothing to start: each test file has a browser of its own. */
function findBrowser(): void {
  const path = findOrInstall('chromium', 'chromium');
  if (path) process.env.TEST_CHROMIUM = path;
  else missing.push('Chromium');
}

function buildDashboard(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build-dashboard.mjs'], { stdio: 'inherit' });
  if (status !== 0) failed += 1;
}

async function runTests(files: string[]): Promise<void> {
  // More than there are cores, where a person waits: many a fault is waited for.
  const concurrency = availableParallelism() + (inCi ? 0 : 2);
  const stream = run({ files, concurrency, timeout: 900_000 });
  stream.on('test:pass', ({ details, skip, todo }) => {
    if (details.type !== 'suite' && skip === undefined && todo === undefined) passed += 1;
  });
  stream.on('test:fail', ({ details }) => {
    // A suite fails with its tests, which count themselves, or by what runs before and after them.
    const { failureType } = details.error as { failureType?: string };
    if (details.type !== 'suite' || failureType !== 'subtestsFailed') failed += 1;
  });
  const report = stream.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await new Promise((resolve) => report.once('end', resolve));
}
