/**
 * `npm test`: runs every test on both engines, and checks types, lint and dead code at the same time.
 * With file names as arguments it runs only those files. The last line is "N passed, N failed".
 *
 *   --quick      `npm run test:quick`: SQLite only, in at most a minute; prints what it left out
 *   --times      prints the slowest test files
 *   TEST_PGBOUNCER=1 in the environment: PostgreSQL is used through PgBouncer in transaction mode
 *   TEST_CITUS_URL in the environment: PostgreSQL is this coordinator of a cluster, and the tables are spread
 *   --validate   with file names: also checks their calls against openapi.json. Without file names it always does.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { findOrInstall, type Service, startPgBouncer, startPostgres, startRedis } from './services.ts';

const { values: options, positionals: requestedFiles } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
    validate: { type: 'boolean', default: false },
  },
});
const ALL_TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts'];
/**
 * `npm run test:faults` runs them after these tests: the faults in full, and what builds, installs and upgrades whole
 * deployments. The files in test/release/faults are short versions, for the mutations and for single runs.
 */
const PART_OF_FAULTS = 'test/{faults,deployments}/*.test.ts';
/** What `--quick` leaves out, with a reason for each group of files. */
const NOT_QUICK: Readonly<Record<string, readonly string[]>> = {
  'need a browser': ['test/browser/*.test.ts'],
  'start, stop and kill whole servers': [
    'test/delivery-kills*.test.ts',
    'test/process/drain.test.ts',
    'test/start*.test.ts',
    'test/process/stop.test.ts',
    'test/process/surroundings.test.ts',
  ],
  'start the command line or other programs many times': [
    'test/cli*.test.ts',
    'test/deploy-*.test.ts',
    'test/install*.test.ts',
    'test/release/openapiTools.test.ts',
    'test/features/delivery/newChannel.test.ts',
  ],
  'compute many password hashes': ['test/features/people/signInLimits.test.ts', 'test/features/people/signInQueue.test.ts'],
  'wait for time-outs': ['test/features/webhooks/events.test.ts', 'test/contract/wire.test.ts'],
};
const SLOWEST_SHOWN = 15;
/**
 * A process that loads the service uses as much processor time for it as the tests of a small file, so files of these
 * kinds share one. A file that replaces something of its process (`mock`) or has hooks for all of it does not.
 */
const SHARED_PROCESS = ['src/**/*.test.ts', 'test/*.test.ts'];
const OWN_PROCESS = /\bmock\b|^(before|after)/m;
const FILES_PER_PROCESS = 8;
/** They wait for time-outs for a minute. If they were not first, everything else would be done before. */
const FIRST = ['test/contract/wire.test.ts'];
const MEMORY_FILES = '/dev/shm';
const MEMORY_MIN = 4 * 2 ** 30;

const root = new URL('..', import.meta.url).pathname;
const inCi = process.env.CI === 'true';
let passed = 0;
let failed = 0;
let skipped = 0;
const missing: string[] = [];
const services: Service[] = [];
const secondsByFile = new Map<string, number>();

process.chdir(root);
// Every test file is a process that loads the whole service. With the cache, sources are compiled only once.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/node`;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const startedAt = performance.now();
const validates = options.validate || (requestedFiles.length === 0 && !options.quick);
useMemoryForFiles();
const scratch = mkdtempSync(join(tmpdir(), 'deskbell-test-files-'));
const callsFolder = validates ? mkdtempSync(join(tmpdir(), 'deskbell-calls-')) : undefined;
if (callsFolder) process.env.TEST_CALLS = callsFolder;
// The checks run next to the tests: each check keeps one core busy, and some tests only wait.
const checks = requestedFiles.length > 0 || options.quick ? Promise.resolve([]) : checkSources();
if (options.quick) {
  delete process.env.TEST_POSTGRESQL_URL;
  delete process.env.TEST_CITUS_URL;
  delete process.env.TEST_REDIS_URL;
} else {
  await start('PostgreSQL', 'postgres', 'postgresql', (program) =>
    startPostgres(program, { durable: false }),
  );
  if (process.env.TEST_PGBOUNCER === '1') {
    // Hundreds of databases, each with a pool of its own.
    const settings = { max_client_conn: '2000', server_idle_timeout: '2' };
    await start('PgBouncer', 'pgbouncer', 'pgbouncer', (program) =>
      startPgBouncer(program, process.env.TEST_POSTGRESQL_URL!, settings),
    );
  }
  await start('Redis', 'redis-server', 'redis-server', startRedis);
  findBrowser();
  buildDashboard();
}
// Imported only now, because it reads the address of PostgreSQL when it is loaded.
const { prepareDemoDatabases } = await import('../test/support/databases.ts');
const demo = await prepareDemoDatabases();
process.env.TEST_PROGRAM = await bundleProgram(join(scratch, 'program'));
try {
  await runTests(requestedFiles.length > 0 ? requestedFiles : selectFiles());
  for (const line of await checks) console.log(line);
  if (callsFolder) console.log(await validateCalls(callsFolder));
} finally {
  rmSync(scratch, { recursive: true });
  if (callsFolder) rmSync(callsFolder, { recursive: true });
  await demo.remove();
  await Promise.all(services.map((service) => service.stop()));
}

if (options.times) printSlowest();
if (options.quick) printLeftOut();
for (const name of missing) {
  console.log(`\n!!! ${name} was not found: the tests that need it DID NOT RUN. Install it and run again.`);
  if (inCi) failed += 1;
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Returns a line for each check, printed after the tests, where people see them. Threads would only take tests' time. */
async function checkSources(): Promise<string[]> {
  return [
    await check('types', 'node_modules/.bin/tsc', ['--singleThreaded']),
    await check('types of the dashboard', 'node_modules/.bin/tsc', ['--singleThreaded', '-p', 'dashboard']),
    await check('types of the client', 'node_modules/.bin/tsc', [
      '--singleThreaded',
      '--noEmit',
      '-p',
      'clients/typescript',
    ]),
    await check('lint and format', 'node_modules/.bin/biome', ['check', '--error-on-warnings']),
    await check('dead code', 'node_modules/.bin/knip', []),
  ];
}

/** The calls that the tests made over HTTP. Prism checks 1,000 of them in a second. */
async function validateCalls(folder: string): Promise<string> {
  const { install } = await import('../bench/peers/install.ts');
  await install('test/release/openapi-tools');
  const args = ['test/release/openapi-tools/validate.mjs', folder];
  return check('calls match openapi.json', process.execPath, args);
}

async function check(title: string, program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  if (status === 0) passed += 1;
  else failed += 1;
  return `${status === 0 ? '✔' : '✖'} ${title}${status === 0 ? '' : `\n${output}`}`;
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

/** There is nothing to start: each test file opens its own browser. */
function findBrowser(): void {
  const path = findOrInstall('chromium', 'chromium');
  if (path) process.env.TEST_CHROMIUM = path;
  else missing.push('Chromium');
}

function buildDashboard(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build-dashboard.mjs'], { stdio: 'inherit' });
  if (status !== 0) failed += 1;
}

/** What tests start as a process: bundled from the source, with everything else of the project. */
async function bundleProgram(folder: string): Promise<string> {
  const { bundle } = await import('./build/bundle.ts');
  await bundle(root, join(folder, 'lib'), { packaged: false, alsoEntries: ['test/support/commandProcess.ts'] });
  for (const name of ['package.json', 'node_modules', 'migrations', 'dashboard', 'docs', 'openapi.json'])
    symlinkSync(join(root, name), join(folder, name));
  return folder;
}

async function runTests(files: string[]): Promise<void> {
  // More processes at a time than cores, because many tests wait. With two more, the whole is not faster, and each test is
  // slower.
  const concurrency = availableParallelism() + 1;
  const stream = run({ files: inProcesses(files), concurrency, timeout: 900_000 });
  stream.on('test:pass', ({ details, skip, todo, file }) => {
    if (details.type === 'suite') return;
    addTime(file, details.duration_ms);
    if (skip === undefined && todo === undefined) passed += 1;
    else skipped += 1;
  });
  stream.on('test:fail', ({ details, file }) => {
    if (details.type !== 'suite') addTime(file, details.duration_ms);
    // A suite fails because of its tests, which are counted themselves, or because of its hooks.
    const { failureType } = details.error as { failureType?: string };
    if (details.type !== 'suite' || failureType !== 'subtestsFailed') failed += 1;
  });
  const report = stream.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await new Promise((resolve) => report.once('end', resolve));
}

/**
 * The tests create and remove hundreds of databases, which on a disk takes a tenth of their processor time. So their
 * temporary files are in memory, if there is enough of it.
 */
function useMemoryForFiles(): void {
  const { bavail, bsize } = existsSync(MEMORY_FILES) ? statfsSync(MEMORY_FILES) : { bavail: 0, bsize: 0 };
  if (Math.min(bavail * bsize, process.availableMemory() / 2) < MEMORY_MIN) return;
  const folder = mkdtempSync(join(MEMORY_FILES, 'deskbell-test-'));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Containers often forbid programs there.
  if (spawnSync(program).status === 0) process.env.TMPDIR = folder;
}

/** Returns the modules to run, one for each process. */
function inProcesses(files: string[]): string[] {
  const shared = new Set(globSync(SHARED_PROCESS));
  const first = files.filter((file) => FIRST.includes(file));
  const canShare = (file: string) =>
    shared.has(file) && !FIRST.includes(file) && !OWN_PROCESS.test(readFileSync(file, 'utf8'));
  const sharing = files.filter(canShare);
  const modules: string[] = [];
  // Files with similar names take similar time: dealt like cards, every process gets one of each kind.
  const count = Math.ceil(sharing.length / FILES_PER_PROCESS);
  for (let nth = 0; nth < count; nth += 1) {
    const imports = sharing.filter((_, index) => index % count === nth);
    const module = join(scratch, `${nth}.test.mjs`);
    writeFileSync(module, imports.map((file) => `import '${join(root, file)}';\n`).join(''));
    modules.push(module);
  }
  // Those with their own process often wait, so they run next to the others.
  const alone = files.filter((file) => !canShare(file) && !FIRST.includes(file));
  const each = Math.ceil(alone.length / (modules.length || 1));
  return [...first, ...modules.flatMap((module) => [...alone.splice(0, each), module]), ...alone];
}

function addTime(file: string | undefined, ms: number): void {
  const name = file?.replace(root, '') ?? '';
  secondsByFile.set(name, (secondsByFile.get(name) ?? 0) + ms / 1000);
}

function selectFiles(): string[] {
  const notQuick = options.quick ? Object.values(NOT_QUICK).flat() : [];
  return globSync(ALL_TESTS, { exclude: ['**/node_modules/**', PART_OF_FAULTS, ...notQuick] }).sort();
}

function printLeftOut(): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`\n${passed + failed} tests ran on SQLite in ${seconds} s. Left out:`);
  console.log('  PostgreSQL and Redis; types, lint and dead code (npm run check)');
  for (const [reason, patterns] of Object.entries(NOT_QUICK)) {
    const files = globSync([...patterns]).length;
    if (requestedFiles.length === 0) console.log(`  tests that ${reason} (files: ${files})`);
  }
  console.log('  faults and whole deployments, which npm test leaves out, too (npm run test:faults)');
  if (skipped > 0) console.log(`  ${skipped} tests in these files that need one of them`);
}

function printSlowest(): void {
  const slowest = [...secondsByFile].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  console.log(
    `\nThe slowest test files, of ${secondsByFile.size}, in ${((performance.now() - startedAt) / 1000).toFixed(0)} s:`,
  );
  for (const [file, seconds] of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
}
