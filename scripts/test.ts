/**
 * `npm test`: runs every test on both engines, and checks types, lint and dead code at the same time.
 * With file names as arguments it runs only those files. The last line is "N passed, N failed".
 *
 *   --quick      `npm run test:quick`: the contract, and a question's way to its answer, on SQLite, in 45 seconds
 *   --times      prints the slowest test files
 *   TEST_PGBOUNCER=1 in the environment: PostgreSQL is used through PgBouncer in transaction mode
 *   TEST_CITUS_URL in the environment: PostgreSQL is this coordinator of a cluster, and the tables are spread
 *   --validate   with file names: also checks their calls against openapi.json, and the plans of their statements. Without
 *                file names it always does.
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
import type { Plugin } from 'rolldown';
import {
  findOrInstall,
  findOrInstallBrowser,
  type Service,
  startPgBouncer,
  startPostgres,
  startRedis,
} from './services.ts';

const { values: options, positionals: requestedFiles } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
    validate: { type: 'boolean', default: false },
  },
});
const TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts'];
/** `npm run test:release` runs them: they kill, build, install, upgrade and attack for minutes. */
const FOR_RELEASES = 'test/release/**';
/** `--quick` runs only these. */
const QUICK = [
  'src/**/*.test.ts',
  'test/{contract,dashboard}/**/*.test.ts',
  'test/features/{answers,asks,conversations,inbox,knowledge}/**/*.test.ts',
];
const SLOWEST_SHOWN = 15;
/**
 * A process that loads the service uses a second of processor time for that, and the first calls are slow until they are
 * compiled. So files share a process. One that replaces something of its process (`mock`) or has hooks for all of it has
 * its own.
 */
const OWN_PROCESS = /\bmock\b|registerHooks|^(before|after)/m;
const FILES_PER_PROCESS = 24;
/** They share a browser, too: one for each core. */
const BROWSER_TESTS = 'test/browser/';
const BROWSERS = 2;
/** More means that the suite has become too heavy: whoever adds tests removes as much. */
const CPU_MAX_MINUTES = 18;
const MEMORY_FILES = '/dev/shm';
const MEMORY_MIN = 4 * 2 ** 30;

/** The statements that the tests make the program run, whose plans are checked at the end. */
const RECORD_STATEMENTS = new URL('../test/support/statements/record.ts', import.meta.url).pathname;
const CHECK_STATEMENTS = new URL('../test/support/statements/check.ts', import.meta.url).pathname;

const root = new URL('..', import.meta.url).pathname;
/** What record.ts does in a process from the source. */
const recordStatements: Plugin = {
  name: 'record-statements',
  async resolveId(source, importer) {
    const [original, recorded] = ['src/database', 'test/support/statements'].map((folder) =>
      join(root, folder, 'open.ts'),
    );
    if (!source.endsWith('/open.ts') || importer === recorded) return null;
    const found = await this.resolve(source, importer, { skipSelf: true });
    return found?.id === original ? recorded! : null;
  },
};

const inCi = process.env.CI === 'true';
let passed = 0;
let failed = 0;
const missing: string[] = [];
const services: Service[] = [];
const secondsByFile = new Map<string, number>();

process.chdir(root);
// Every process loads the whole service. With the cache, sources are compiled only once.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/node`;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const startedAt = performance.now();
const validates = options.validate || (requestedFiles.length === 0 && !options.quick);
// Not in memory: it stays if the check of the statements fails.
const statementsFolder = validates ? mkdtempSync(join(tmpdir(), 'deskbell-statements-')) : undefined;
if (statementsFolder) process.env.TEST_STATEMENTS = statementsFolder;
let isStatementsFolderKept = false;
process.once('exit', () => {
  if (statementsFolder && !isStatementsFolderKept) rmSync(statementsFolder, { recursive: true });
});
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
  prepareBrowser();
  buildDashboard();
}
// Imported only now, because it reads the address of PostgreSQL when it is loaded.
const { prepareDemoDatabases } = await import('../test/support/databases.ts');
const demo = await prepareDemoDatabases();
if (!options.quick) process.env.TEST_PROGRAM = await bundleProgram(join(scratch, 'program'));
try {
  await runTests(requestedFiles.length > 0 ? requestedFiles : selectFiles());
  for (const line of await checks) console.log(line);
  if (callsFolder) console.log(await validateCalls(callsFolder));
  if (statementsFolder) {
    const failedBefore = failed;
    console.log(
      await check('plans of all statements', process.execPath, [CHECK_STATEMENTS, statementsFolder]),
    );
    isStatementsFolderKept = failed > failedBefore;
  }
} finally {
  rmSync(scratch, { recursive: true });
  if (callsFolder) rmSync(callsFolder, { recursive: true });
  await demo.remove();
  await Promise.all(services.map((service) => service.stop()));
}

if (options.times) printSlowest();
if (options.quick)
  console.log(
    '\nOnly a part, on SQLite. npm test runs everything: PostgreSQL, people, alerts, the browser, processes, types, lint …',
  );
for (const name of missing) {
  console.log(`\n!!! ${name} was not found: the tests that need it DID NOT RUN. Install it and run again.`);
  if (inCi) failed += 1;
}
printCost();
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

/** The calls that the tests made over HTTP. */
async function validateCalls(folder: string): Promise<string> {
  const { readCalls, reportProblems } = await import('../test/support/validateCalls.ts');
  const report = reportProblems(JSON.parse(readFileSync('openapi.json', 'utf8')), readCalls(folder));
  if (report === undefined) passed += 1;
  else failed += 1;
  return `${report === undefined ? '✔' : '✖'} calls match openapi.json${report ? `\n${report}` : ''}`;
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

/** There is nothing to start: the tests launch it. */
function prepareBrowser(): void {
  const path = findOrInstallBrowser();
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
  await bundle(root, join(folder, 'lib'), {
    packaged: false,
    alsoEntries: ['test/support/commandProcess.ts'],
    plugins: statementsFolder ? [recordStatements] : [],
  });
  for (const name of ['package.json', 'node_modules', 'migrations', 'dashboard', 'docs', 'openapi.json'])
    symlinkSync(join(root, name), join(folder, name));
  return folder;
}

async function runTests(files: string[]): Promise<void> {
  // More processes at a time than cores, because many tests wait. With two more, the whole is not faster, and each test is
  // slower. The quick ones have few processes: all at once.
  const concurrency = options.quick ? 4 * availableParallelism() : availableParallelism() + 1;
  const stream = run({
    ...{ files: inProcesses(files), concurrency, timeout: 900_000 },
    execArgv: statementsFolder ? ['--import', RECORD_STATEMENTS] : [],
  });
  stream.on('test:pass', ({ details, skip, todo, file }) => {
    if (details.type === 'suite') return;
    addTime(file, details.duration_ms);
    if (skip === undefined && todo === undefined) passed += 1;
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

/** Returns the modules to run, one for each process. The longest begin first. */
function inProcesses(files: string[]): string[] {
  const inBrowser = files.filter((file) => file.startsWith(BROWSER_TESTS));
  const others = files.filter((file) => !inBrowser.includes(file));
  const alone = others.filter((file) => OWN_PROCESS.test(readFileSync(file, 'utf8')));
  const sharing = others.filter((file) => !alone.includes(file));
  // Files of one folder take similar time: dealt like cards, every process gets some of each folder.
  const count = Math.ceil(sharing.length / FILES_PER_PROCESS);
  const modules = [...deal(inBrowser, BROWSERS), ...deal(sharing, count)].map(moduleOf);
  return [...modules.slice(0, BROWSERS), ...alone, ...modules.slice(BROWSERS)];
}

function deal(files: string[], hands: number): string[][] {
  const dealt = Array.from({ length: hands }, (_, nth) => files.filter((_, index) => index % hands === nth));
  return dealt.filter((hand) => hand.length > 0);
}

function moduleOf(files: string[], nth: number): string {
  const module = join(scratch, `${nth}.test.mjs`);
  writeFileSync(module, files.map((file) => `import '${join(root, file)}';\n`).join(''));
  return module;
}

function addTime(file: string | undefined, ms: number): void {
  const name = file?.replace(root, '') ?? '';
  secondsByFile.set(name, (secondsByFile.get(name) ?? 0) + ms / 1000);
}

function selectFiles(): string[] {
  return globSync(options.quick ? QUICK : TESTS, { exclude: ['**/node_modules/**', FOR_RELEASES] }).sort();
}

/** Of this process and all that it has started and that have ended. Undefined where the system does not say it. */
function cpuMinutes(): number | undefined {
  if (!existsSync('/proc/self/stat')) return undefined;
  // After the name of the program, which may contain spaces: the fields 14 to 17 are ticks of 10 ms.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100 / 60;
}

function printCost(): void {
  const minutes = (performance.now() - startedAt) / 60_000;
  const cpu = cpuMinutes();
  console.log(
    `\nTook ${minutes.toFixed(1)} minutes, and ${cpu?.toFixed(1) ?? 'an unknown number of'} minutes of CPU time.`,
  );
  if (!inCi || requestedFiles.length > 0 || cpu === undefined || cpu <= CPU_MAX_MINUTES) return;
  console.log(`✖ That is above the limit of ${CPU_MAX_MINUTES} minutes of CPU time.`);
  failed += 1;
}

function printSlowest(): void {
  const slowest = [...secondsByFile].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  console.log(
    `\nThe slowest test files, of ${secondsByFile.size}, in ${((performance.now() - startedAt) / 1000).toFixed(0)} s:`,
  );
  for (const [file, seconds] of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
}
