/**
 * `npm run test:mutations`: checks that the tests catch faults. It copies the project, plants the mutations of
 * test/release/mutations/ one by one, and runs the test that must fail. Each of these tests must pass without the
 * mutation. The last line is "N passed, N failed"; the exit code is 1 if a mutation was not caught.
 *
 *   --only text    only the mutations whose name or test file contains this text
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTATIONS } from '../test/release/mutations/all.ts';
import { type Mutation, occurrences } from '../test/release/mutations/mutation.ts';
import { findOrInstall, type Service, startPostgres, startRedis } from './services.ts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const root = fileURLToPath(new URL('..', import.meta.url));
/** A copy does not need these. It gets a link to node_modules. */
const NOT_COPIED = new Set([
  'node_modules',
  'test/release/openapi-tools/node_modules',
  'test/release/deploy/tools/node_modules',
  '.git',
  'data',
  'clients/typescript/examples/node_modules',
]);
const COPIES = 2;
const escaped = (name: string) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const TEST_MAX_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'deskbell-mutations-'));
const services: Service[] = [];
let passed = 0;
let failed = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

try {
  await start('PostgreSQL', 'postgres', (program) => startPostgres(program, { durable: false }));
  await start('Redis', 'redis-server', startRedis);
  const mutations = MUTATIONS.filter(({ name, testFile }) => `${name}\n${testFile}`.includes(values.only));
  const copies = Array.from({ length: COPIES }, (_, n) => copyTo(join(folder, `${n + 1}`)));
  const files = Map.groupBy(mutations, ({ testFile }) => testFile);

  console.log(`${mutations.length} mutations, ${files.size} test files; first each file without a mutation`);
  const broken = new Set<string>();
  await distribute([...files], copies, async ([testFile, ofFile], copy) => {
    const allPass = (results: Results) => ofFile.every(({ test }) => results.get(test) === 'passed');
    let results = await runTests(copy, testFile, ofFile);
    // On a busy machine a test may fail once by chance, but hardly twice.
    if (!allPass(results)) results = await runTests(copy, testFile, ofFile);
    for (const { test } of ofFile.filter((mutation) => results.get(mutation.test) !== 'passed')) {
      broken.add(`${testFile} ${test}`);
      console.log(`✖ ${testFile}: without any mutation "${test}" ${results.get(test) ?? 'was not found'}`);
    }
  });
  await distribute(mutations, copies, async (mutation, copy) => {
    const startedAt = performance.now();
    const caught = !broken.has(`${mutation.testFile} ${mutation.test}`) && (await isCaught(mutation, copy));
    if (caught) passed += 1;
    else failed += 1;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${caught ? '✔' : '✖'} ${mutation.name}  [${mutation.file}]`);
    console.log(
      `    ${caught ? 'caught' : 'not caught'} by ${mutation.testFile}: ${mutation.test}  ${seconds} s`,
    );
  });
} finally {
  await Promise.all(services.map((service) => service.stop()));
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

async function start(title: string, program: string, launch: (path: string) => Promise<Service>) {
  const path = findOrInstall(program, program === 'postgres' ? 'postgresql' : program);
  if (!path) throw new Error(`${title} was not found. Install it and run again.`);
  const service = await launch(path);
  services.push(service);
  process.env[`TEST_${title.toUpperCase()}_URL`] = service.url;
}

function copyTo(copy: string): string {
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Each copy takes the next item as soon as it has finished one. */
async function distribute<T>(
  items: readonly T[],
  copies: readonly string[],
  work: (item: T, copy: string) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    copies.map(async (copy) => {
      for (const item of queue) await work(item, copy);
    }),
  );
}

async function isCaught(mutation: Mutation, copy: string): Promise<boolean> {
  const path = join(copy, mutation.file);
  const text = readFileSync(path, 'utf8');
  if (occurrences(text, mutation.find) !== 1) return false;
  writeFileSync(
    path,
    text.replace(mutation.find, () => mutation.replace),
  );
  try {
    const isCaughtNow = async () =>
      (await runTests(copy, mutation.testFile, [mutation])).get(mutation.test) === 'failed';
    // Some faults need a race that does not occur in every run.
    return (await isCaughtNow()) || (await isCaughtNow());
  } finally {
    writeFileSync(path, text);
  }
}

type Results = Map<string, 'passed' | 'failed'>;

/** The results by test name. A test that did not run because its process crashed has failed. */
async function runTests(copy: string, testFile: string, mutations: readonly Mutation[]): Promise<Results> {
  const names = new Set(mutations.map(({ test }) => test));
  const results: Results = new Map();
  let crashed = false;
  // Of the copy, with the mutation. It takes milliseconds if nothing has changed.
  if (testFile.startsWith('test/browser/'))
    execFileSync(process.execPath, ['scripts/build-dashboard.mjs'], { cwd: copy, stdio: 'ignore' });
  const stream = run({
    cwd: copy,
    files: [join(copy, testFile)],
    // Node matches the test name with the names of its suites in front.
    testNamePatterns: mutations.map(
      ({ within, test }) => new RegExp(`(^|\\s)${within ? `${escaped(within)} ` : ''}${escaped(test)}$`),
    ),
    timeout: TEST_MAX_MS,
  });
  stream.on('test:pass', ({ name, skip }) => {
    if (names.has(name) && skip === undefined && !results.has(name)) results.set(name, 'passed');
  });
  stream.on('test:fail', ({ name }) => {
    if (names.has(name)) results.set(name, 'failed');
    else crashed = true;
  });
  for await (const _event of stream);
  if (crashed) for (const name of names) if (!results.has(name)) results.set(name, 'failed');
  return results;
}
