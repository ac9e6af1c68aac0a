/**
 * `npm run test:mutations`: would the tests notice a bug? Plants the bugs of test/release/mutations/ one by one in a copy
 * of the project, and runs the tests that must fail. These tests must pass without the bug. The last line is
 * "N passed, N failed".
 *
 *   --only text     only the bugs whose name, file or tests contain this text
 *   --sample N      only N of them, chosen by chance
 *   --check         plants nothing: says which bugs no longer fit the source
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findOrInstall, type Service, startPostgres, startRedis } from './services.ts';

/** A mistake that somebody might make, and the tests that must notice it. */
interface Mutation {
  name: string;
  file: string;
  /** Must occur in the file exactly once. */
  find: string;
  replace: string;
  tests: string[];
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    sample: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
});
const root = fileURLToPath(new URL('..', import.meta.url));
/** A copy does not need these. It gets a link to node_modules. */
const NOT_COPIED = /(^|\/)(node_modules|\.git|data)$/;
const COPIES = 2;
const TEST_MAX_MS = 120_000;
const FILE_MAX_MS = 2 * TEST_MAX_MS;

const mutations = chosen(
  globSync('test/release/mutations/*.txt', { cwd: root }).sort().flatMap(readMutations),
);
const misfits = mutations.flatMap((mutation) => problemOf(mutation) ?? []);
for (const misfit of misfits) console.log(`✖ ${misfit}`);
let passed = mutations.length - misfits.length;
let failed = misfits.length;
if (!values.check) {
  passed = 0;
  await plantAll(mutations.filter((mutation) => problemOf(mutation) === undefined));
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** Bugs are separated by empty lines: the name, `in FILE, caught by TESTS`, the lines to find, and those to write instead. */
function readMutations(list: string): Mutation[] {
  const blocks = readFileSync(join(root, list), 'utf8').trim().split(/\n\n+/);
  return blocks.map((block) => {
    const [name = '', where = '', ...lines] = block.split('\n');
    const [, file, tests] = /^in (\S+), caught by (.+)$/.exec(where) ?? [];
    if (file === undefined || tests === undefined)
      throw new Error(`${list}: "${where}" is not "in FILE, caught by TESTS"`);
    const linesWith = (mark: string) => lines.filter((line) => line[0] === mark).map((line) => line.slice(1));
    return {
      name,
      file,
      find: linesWith('-').join('\n'),
      replace: linesWith('+').join('\n'),
      tests: tests.split(', '),
    };
  });
}

function chosen(all: Mutation[]): Mutation[] {
  const found = all.filter(({ name, file, tests }) =>
    [name, file, ...tests].join('\n').includes(values.only),
  );
  if (values.sample === undefined) return found;
  const shuffled = found.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at);
  return shuffled.slice(0, Number(values.sample)).map(({ one }) => one);
}

function problemOf({ name, file, find, replace, tests }: Mutation): string | undefined {
  const paths = [file, ...tests.map((test) => test.split(' only ')[0]!)];
  const missing = paths.filter((path) => !existsSync(join(root, path)));
  if (missing.length > 0) return `${name}: ${missing} does not exist`;
  const text = readFileSync(join(root, file), 'utf8');
  const count = text.split(find).length - 1;
  if (count !== 1) return `${name}: its text is in ${file} ${count} times, not once: ${find}`;
  if (!file.endsWith('.ts')) return undefined;
  try {
    // A syntax error would make any test fail, and would prove nothing.
    stripTypeScriptTypes(text.replace(find, () => replace));
    return undefined;
  } catch (error) {
    return `${name}: the changed ${file} is not TypeScript: ${(error as Error).message}`;
  }
}

async function plantAll(planted: readonly Mutation[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-mutations-'));
  const services: Service[] = [];
  const start = async (name: string, debianPackage: string, launch: (path: string) => Promise<Service>) => {
    const path = findOrInstall(name, debianPackage);
    if (!path) throw new Error(`${name} was not found. Install it and run again.`);
    services.push(await launch(path));
    return services.at(-1)!.url;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  try {
    process.env.TEST_POSTGRESQL_URL = await start('postgres', 'postgresql', (path) =>
      startPostgres(path, { durable: false }),
    );
    process.env.TEST_REDIS_URL = await start('redis-server', 'redis-server', startRedis);
    buildDashboard(root);
    const { prepareDemoDatabases } = await import('../test/support/databases.ts');
    const demo = await prepareDemoDatabases();
    const copies = Array.from({ length: COPIES }, (_, n) => copyTo(join(folder, `${n + 1}`)));

    const files = [...new Set(planted.flatMap(({ tests }) => tests))];
    console.log(`${planted.length} bugs, ${files.length} test files; first each file without a bug`);
    const broken = new Set<string>();
    await distribute(files, copies, async (file, copy) => {
      if (await pass([file], copy)) return;
      broken.add(file);
      console.log(`✖ ${file} fails without any bug`);
    });
    await distribute(planted, copies, async (mutation, copy) => {
      const startedAt = performance.now();
      const caught = !mutation.tests.some((file) => broken.has(file)) && (await isCaught(mutation, copy));
      if (caught) passed += 1;
      else failed += 1;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const how = caught ? 'caught' : 'NOT caught';
      console.log(
        `${caught ? '✔' : '✖'} ${mutation.name}  [${mutation.file}; ${how} by ${mutation.tests}, ${seconds} s]`,
      );
    });
    await demo.remove();
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
}

/** Takes milliseconds if nothing has changed. */
function buildDashboard(folder: string): void {
  execFileSync(process.execPath, ['scripts/build-dashboard.mjs'], { cwd: folder, stdio: 'ignore' });
}

function copyTo(copy: string): string {
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.test(relative(root, path)) });
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

async function isCaught({ file, find, replace, tests }: Mutation, copy: string): Promise<boolean> {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
  try {
    // Some bugs need a race that does not occur in every run.
    return !(await pass(tests, copy)) || !(await pass(tests, copy));
  } finally {
    writeFileSync(path, text);
  }
}

/** One file after the other: most bugs are noticed by the first. */
async function pass(tests: readonly string[], copy: string): Promise<boolean> {
  // Of the copy, with the bug.
  if (tests.some((file) => file.startsWith('test/browser/'))) buildDashboard(copy);
  for (const test of tests) if (!(await passes(test, copy))) return false;
  return true;
}

async function passes(test: string, copy: string): Promise<boolean> {
  const [file = '', only] = test.split(' only ');
  const pattern = only === undefined ? [] : [`--test-name-pattern=^${only}`];
  const args = ['--test', `--test-timeout=${TEST_MAX_MS}`, ...pattern, file];
  // In a group of its own, so that nothing of it stays behind.
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', detached: true });
  const kill = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Nothing was left.
    }
  };
  // What a bug leaves open makes a process wait forever: a time-out ends tests, not files.
  const timer = setTimeout(kill, FILE_MAX_MS);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  kill();
  return code === 0;
}
