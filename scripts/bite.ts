/**
 * `npm run test:bite`: the tests bite. Plants each fault of test/bite/ in a throw-away copy of the project and
 * runs the test that must turn red, having seen it green without. Ends with "N passed, N failed" on a line,
 * and with 1 if a fault went unnoticed.
 *
 *   --only text    only the faults whose name has this text
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { occurrences, type PlantedFault } from '../test/bite/fault.ts';
import { PLANTED } from '../test/bite/faults.ts';
import { findOrInstall, type Service, startPostgres, startRedis } from './services.ts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const root = fileURLToPath(new URL('..', import.meta.url));
/** Neither is needed in a copy; the packages are linked, for nothing is installed there. */
const NOT_COPIED = new Set(['node_modules', '.git', 'data']);
const COPIES = 2;
const escaped = (name: string) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const TEST_MAX_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'deskbell-bite-'));
const services: Service[] = [];
let passed = 0;
let failed = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

try {
  await start('PostgreSQL', 'postgres', (program) => startPostgres(program, { durable: false }));
  await start('Redis', 'redis-server', startRedis);
  const faults = PLANTED.filter(({ name }) => name.includes(values.only));
  const copies = Array.from({ length: COPIES }, (_, n) => copyTo(join(folder, `${n + 1}`)));
  const files = Map.groupBy(faults, ({ testFile }) => testFile);

  console.log(`${faults.length} faults, ${files.size} files of tests; first each without a fault`);
  const red = new Set<string>();
  await shareOut([...files], copies, async ([testFile, ofFile], copy) => {
    const allGreen = (results: Results) => ofFile.every(({ test }) => results.get(test) === 'green');
    let results = await runTests(copy, testFile, ofFile);
    // A busy machine may turn one red by itself, but hardly twice.
    if (!allGreen(results)) results = await runTests(copy, testFile, ofFile);
    for (const { test } of ofFile.filter((fault) => results.get(fault.test) !== 'green')) {
      red.add(`${testFile} ${test}`);
      console.log(`✖ ${testFile}: "${test}" is ${results.get(test) ?? 'not there'} without any fault`);
    }
  });
  await shareOut(faults, copies, async (fault, copy) => {
    const beganAt = performance.now();
    const noticed = !red.has(`${fault.testFile} ${fault.test}`) && (await isNoticed(fault, copy));
    if (noticed) passed += 1;
    else failed += 1;
    const seconds = ((performance.now() - beganAt) / 1000).toFixed(1);
    console.log(`${noticed ? '✔' : '✖'} ${fault.name}  [${fault.file}]`);
    console.log(`    ${noticed ? 'caught' : 'not caught'} by ${fault.testFile}: ${fault.test}  ${seconds} s`);
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

/** Each copy takes the next item as soon as it is done with one. */
async function shareOut<T>(
  items: readonly T[],
  copies: readonly string[],
  work: (item: T, copy: string) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    copies.map(async (copy) => {
      for (const item of rest) await work(item, copy);
    }),
  );
}

async function isNoticed(fault: PlantedFault, copy: string): Promise<boolean> {
  const path = join(copy, fault.file);
  const text = readFileSync(path, 'utf8');
  if (occurrences(text, fault.find) !== 1) return false;
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
  try {
    return (await runTests(copy, fault.testFile, [fault])).get(fault.test) === 'red';
  } finally {
    writeFileSync(path, text);
  }
}

type Results = Map<string, 'green' | 'red'>;

/** The tests of these names, by name. One that a broken process took along is red. */
async function runTests(copy: string, testFile: string, faults: readonly PlantedFault[]): Promise<Results> {
  const names = new Set(faults.map(({ test }) => test));
  const results: Results = new Map();
  let broken = false;
  const stream = run({
    cwd: copy,
    files: [join(copy, testFile)],
    // A name is matched with those of its suites before it.
    testNamePatterns: faults.map(
      ({ within, test }) => new RegExp(`(^|\\s)${within ? `${escaped(within)} ` : ''}${escaped(test)}$`),
    ),
    timeout: TEST_MAX_MS,
  });
  stream.on('test:pass', ({ name, skip }) => {
    if (names.has(name) && skip === undefined && !results.has(name)) results.set(name, 'green');
  });
  stream.on('test:fail', ({ name }) => {
    if (names.has(name)) results.set(name, 'red');
    else broken = true;
  });
  for await (const _event of stream);
  if (broken) for (const name of names) if (!results.has(name)) results.set(name, 'red');
  return results;
}
