/**
 * `npm run bench`: measures the real server on each engine. Each row has a floor, measured right before it in the same
 * run: the minimum work that any implementation needs. Prints a table and writes the figures to docs/.
 *
 *   --seconds N               per row (5)
 *   --engine sqlite|postgres  only this one
 *   --only list,me,…          only these rows
 *   --rows                    also measures the list with ten times the rows; takes minutes
 *   --peers                   instead: the same work on popular alternatives, installed on demand
 *   --sends                   with --peers: while Deskbell sends messages, on PostgreSQL only
 *   --queue                   instead: messages a second, and what a claim costs next to 100,000 blocked messages
 *   --growth                  instead: with more connections, more rows and more processes
 *   --worst                   instead: the worst request of each kind, and how long others wait meanwhile
 *   --waiting                 instead: 10,000 assistants that wait for answers
 *   --scale                   instead: what merchants, streams, requests and messages cost; takes half an hour
 *   --against FOLDER          instead: another checkout and this one take turns; every row at least 0.95 of it. Also
 *                             measures messages, documents and sending
 *   --learning DIR            instead: how well questions are recognised, with labelled documents and questions
 *   --copy N                  instead: backup, restore and move with N notifications
 *   --soak N                  instead: N minutes at 60% of the maximum rate, on PostgreSQL
 *   --profile FOLDER          a CPU profile of each server
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { findProgram } from '../scripts/services.ts';
import { AGAINST_IDS, benchAgainst, printAgainst, RATIO_MIN } from './against.ts';
import { startCluster } from './cluster.ts';
import { benchCopies } from './copy.ts';
import { NOTIFICATIONS } from './data.ts';
import { benchGrowth } from './growth.ts';
import { type GrowthReport, growthSvgs } from './growthReport.ts';
import { type Instance, openInstance } from './instance.ts';
import { compareKeyCheck } from './keyCheck.ts';
import { benchLearning, type LearningReport, missedTargets } from './learning.ts';
import { compare, compareSizes, idle, load, memoryAfter, sliceSecondsOf, storm } from './measure.ts';
import { checkTargets, type PeersReport, peersSvg, printPeers } from './peers/report.ts';
import { benchPeers } from './peers/run.ts';
import { startBareHttp, stopAll } from './processes.ts';
import { benchQueue, printQueueRow, type QueueRow } from './queue.ts';
import { failuresOf, hasTarget, printTable, type Report, type Row, reached, toSvg } from './report.ts';
import { type Floors, LIST, ME, ROW_KINDS } from './rows.ts';
import { benchScale, type ScaleReport } from './scale.ts';
import { type SoakReport, soak } from './soak.ts';
import { compareTracing } from './tracing.ts';
import { benchWaiting, isMet, type WaitingRow } from './waiting.ts';
import { benchWorst, OTHERS_MAX_MS, type WorstRow } from './worst.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    engine: { type: 'string' },
    only: { type: 'string' },
    rows: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    sends: { type: 'boolean', default: false },
    queue: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    worst: { type: 'boolean', default: false },
    waiting: { type: 'boolean', default: false },
    scale: { type: 'boolean', default: false },
    learning: { type: 'string' },
    against: { type: 'string' },
    copy: { type: 'string' },
    soak: { type: 'string' },
    profile: { type: 'string' },
  },
});
const ENGINES = ['postgres', 'sqlite'] as const;
const seconds = Number(options.seconds);
const engines = ENGINES.filter((name) => (options.engine ?? name) === name);
const ids = options.against
  ? AGAINST_IDS
  : ['idle', 'storm', 'key', 'tracing', ...ROW_KINDS.map(({ id }) => id)];
const requested = options.only?.split(',') ?? ids;
const valid = Number.isInteger(seconds) && seconds > 0 && engines.length > 0;
if (!valid || !requested.every((id) => ids.includes(id))) {
  console.error(
    `--seconds must be a whole number, --engine ${ENGINES.join(' or ')}, and --only some of ${ids}.`,
  );
  process.exit(2);
}
const sliceSeconds = sliceSecondsOf(seconds);

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true;
    stopAll().finally(() => process.exit(EXIT_CODES[signal]));
  });
}
try {
  if (options.peers) {
    const peersOptions = { seconds, rowIds: requested, sends: options.sends };
    process.exitCode = publishPeers(await benchPeers(await requireCluster(), peersOptions));
  } else if (options.queue)
    process.exitCode = publishQueue(await benchQueue(await requireCluster(), engines));
  else if (options.growth)
    process.exitCode = publishGrowth(await benchGrowth(await requireCluster(), seconds));
  else if (options.worst) process.exitCode = publishWorst(await benchWorst(await requireCluster(), engines));
  else if (options.waiting)
    process.exitCode = publishWaiting(await benchWaiting(await requireCluster(), engines));
  else if (options.scale) process.exitCode = publishScale(await benchScale(await requireCluster(), engines));
  else if (options.against) {
    const compared = await benchAgainst(options.against, engines, { seconds, rowIds: requested });
    printAgainst(compared);
    process.exitCode = compared.every(({ perSecond, errors }) => perSecond.ratio >= RATIO_MIN && errors === 0)
      ? 0
      : 1;
  } else if (options.learning)
    process.exitCode = publishLearning(
      await benchLearning(await requireCluster(), engines, options.learning),
    );
  else if (options.copy) await benchCopies(await requireCluster(), Number(options.copy));
  else if (options.soak)
    process.exitCode = publishSoak(await soak(await requireCluster(), Number(options.soak)));
  else process.exitCode = publish(await bench());
} catch (error) {
  // After an interrupt its processes are stopped, so errors are expected.
  if (!interrupted) throw error;
} finally {
  await stopAll();
}

async function bench(): Promise<Row[]> {
  const postgresUrl = await startCluster();
  const open = (engine: Instance['engine'], notifications: number) => {
    console.log(`Loading ${notifications.toLocaleString('en')} notifications into ${engine} …`);
    return openInstance(engine, {
      notifications,
      postgresUrl,
      profileFolder: options.profile,
      startTwice: true,
    });
  };
  const instances: Instance[] = [];
  // PostgreSQL is needed for the floors of the writes, even if it is not measured itself.
  if (postgresUrl) instances.push(await open('postgres', NOTIFICATIONS));
  if (engines.includes('sqlite')) instances.push(await open('sqlite', NOTIFICATIONS));
  const measured = instances.filter(({ engine }) => engines.includes(engine));
  if (!measured[0]) throw new Error('PostgreSQL was not found');
  const floors = await openFloors(measured[0], instances);

  const rows: Row[] = [];
  if (requested.includes('idle')) rows.push(...measured.flatMap(idle));
  // Before the writes, because they make the lists longer.
  for (const instance of options.rows ? measured : []) {
    rows.push(await compareSizes(instance, (count) => open(instance.engine, count), sliceSeconds));
  }
  for (const instance of requested.includes('storm') ? measured : [])
    rows.push(await storm(instance, seconds));
  for (const instance of requested.includes('key') ? measured : [])
    rows.push(await compareKeyCheck(instance));
  for (const instance of requested.includes('tracing') ? measured : [])
    if (instance.engine === 'postgres') rows.push(...(await compareTracing(instance, sliceSeconds)));
  for (const kind of ROW_KINDS.filter(({ id }) => requested.includes(id))) {
    console.log(`${kind.title} …`);
    rows.push(...(await compare(kind, floors, instances, measured)));
  }
  if (requested.includes('idle')) rows.push(...measured.map(memoryAfter));
  return rows;
}

async function openFloors(
  { server, tokens, passwordHash, config }: Instance,
  instances: Instance[],
): Promise<Floors> {
  const bodies: Record<string, string> = {};
  for (const { path } of [LIST.requests[0], ME.requests[0]]) {
    const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${tokens[0]}` } });
    if (response.status !== 200) throw new Error(`${path} answers ${response.status}`);
    bodies[path] = await response.text();
    console.log(`${path} has ${Buffer.byteLength(bodies[path])} bytes`);
  }
  const bareHttp = await startBareHttp(bodies);
  const program = findProgram('pgbench');
  const postgres = instances.find(({ engine }) => engine === 'postgres');
  return {
    async bareHttp(plan, connections) {
      const figures = await load({ server: bareHttp, tokens }, plan, connections, sliceSeconds);
      if (figures.errors > 0) throw new Error('plain node:http failed');
      return figures;
    },
    pgbench: program && postgres ? { program, instance: postgres } : undefined,
    passwordHash,
    hashesAtOnce: config.hashesAtOnce,
    seconds: sliceSeconds,
  };
}

async function requireCluster(): Promise<string> {
  const url = await startCluster();
  if (!url) throw new Error('PostgreSQL was not found');
  return url;
}

/** Returns the exit code: 1 if requests failed, which makes the figures useless. A missed target is not an error. */
function publish(rows: Row[]): number {
  const report: Report = { ...environment(), rows };
  write('bench', report, { bench: toSvg(report) });
  printTable(report);
  const failures = rows.reduce((sum, row) => sum + failuresOf(row), 0);
  const targets = rows.filter(hasTarget);
  const missed = targets.filter((row) => !reached(row)).length;
  console.log(`\n${missed} of ${targets.length} targets missed, ${failures} failed requests`);
  return failures > 0 ? 1 : 0;
}

function publishPeers(measured: Awaited<ReturnType<typeof benchPeers>>): number {
  const report: PeersReport = { ...environment(), ...measured, checks: checkTargets(measured) };
  if (!options.sends) write('peers', report, { peers: peersSvg(report) });
  printPeers(report);
  const figures = report.rows.flatMap((row) => Object.values(row.figures));
  const failures = figures.reduce((sum, { errors }) => sum + errors, 0);
  const missed = report.checks.filter(({ met }) => !met).length;
  console.log(`\n${missed} of ${report.checks.length} targets missed, ${failures} failed requests`);
  return failures > 0 ? 1 : 0;
}

function publishQueue(rows: QueueRow[]): number {
  write('queue', { ...environment(), rows }, {});
  for (const row of rows) printQueueRow(row);
  return 0;
}

function publishGrowth(measured: Awaited<ReturnType<typeof benchGrowth>>): number {
  const report: GrowthReport = { ...environment(), ...measured };
  write('growth', report, growthSvgs(report));
  console.log(`\n${report.errors} failed requests`);
  return report.errors > 0 ? 1 : 0;
}

function publishWorst(rows: WorstRow[]): number {
  write('worst', { ...environment(), rows }, {});
  const slow = rows.filter(({ othersMs }) => othersMs > OTHERS_MAX_MS).length;
  console.log(`\nothers waited longer than ${OTHERS_MAX_MS} ms in ${slow} of ${rows.length} rows`);
  return 0;
}

function publishWaiting(rows: WaitingRow[]): number {
  write('waiting', { ...environment(), rows }, {});
  console.log(`\n${rows.filter((row) => !isMet(row)).length} of ${rows.length} targets missed`);
  return 0;
}

function publishScale(report: ScaleReport): number {
  write('scale', { ...environment(), ...report }, {});
  return 0;
}

function publishLearning(report: LearningReport): number {
  write('learning', { ...environment(), ...report }, {});
  const missed = missedTargets(report);
  console.log(`${missed} targets missed`);
  return missed > 0 ? 1 : 0;
}

function publishSoak(report: SoakReport): number {
  write('soak', { ...environment(), ...report }, {});
  const { errors, p99DriftPercent, megabytesPerMinute } = report;
  console.log(
    `p99 drift ${p99DriftPercent.toFixed(1)}% (at most 20), memory ${megabytesPerMinute.toFixed(2)} MB a minute ` +
      `(at most 1), ${errors} failed requests`,
  );
  return errors > 0 ? 1 : 0;
}

function environment() {
  return {
    takenAt: new Date().toISOString(),
    machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? process.arch}`,
    node: process.version,
    seconds,
  };
}

/** Writes the figures and pictures to docs/. */
function write(name: string, report: object, pictures: Record<string, string>): void {
  const docs = new URL('../docs/', import.meta.url);
  mkdirSync(docs, { recursive: true });
  writeFileSync(new URL(`${name}.json`, docs), `${JSON.stringify(report, null, 2)}\n`);
  for (const [picture, svg] of Object.entries(pictures)) writeFileSync(new URL(`${picture}.svg`, docs), svg);
}
