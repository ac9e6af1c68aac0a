/**
 * `npm run bench`: the real server on each engine, against floors measured in the same run, each floor right
 * before the rows that are compared with it. The table goes to the terminal, the figures into docs/.
 *
 *   --seconds N               per row (5)
 *   --engine sqlite|postgres  only this one
 *   --only list,me,…          only these rows
 *   --rows                    the list with ten times the rows, too; takes minutes
 *   --peers                   instead: the same work on what people pick instead, installed on demand
 *   --growth                  instead: with more connections, more rows and more processes
 *   --soak N                  instead: N minutes at six tenths of the most, on PostgreSQL
 *   --profile FOLDER          a CPU profile of each server
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { findProgram } from '../scripts/services.ts';
import { startCluster } from './cluster.ts';
import { NOTIFICATIONS } from './data.ts';
import { benchGrowth } from './growth.ts';
import { type GrowthReport, growthSvgs } from './growthReport.ts';
import { compare, compareSizes, idle, load, memoryAfter, sliceSecondsOf, storm } from './measure.ts';
import { judge, type PeersReport, peersSvg, printPeers } from './peers/report.ts';
import { benchPeers } from './peers/run.ts';
import { openPlace, type Place } from './place.ts';
import { startBareHttp, stopEverything } from './processes.ts';
import { failuresOf, hasTarget, printTable, type Report, type Row, reached, toSvg } from './report.ts';
import { type Floors, LIST, ME, ROW_KINDS } from './rows.ts';
import { type SoakReport, soak } from './soak.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    engine: { type: 'string' },
    only: { type: 'string' },
    rows: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    soak: { type: 'string' },
    profile: { type: 'string' },
  },
});
const ENGINES = ['postgres', 'sqlite'] as const;
const seconds = Number(options.seconds);
const engines = ENGINES.filter((name) => (options.engine ?? name) === name);
const ids = ['idle', 'storm', ...ROW_KINDS.map(({ id }) => id)];
const asked = options.only?.split(',') ?? ids;
const sound = Number.isInteger(seconds) && seconds > 0 && engines.length > 0;
if (!sound || !asked.every((id) => ids.includes(id))) {
  console.error(`--seconds takes a whole number, --engine ${ENGINES.join(' or ')}, --only some of ${ids}.`);
  process.exit(2);
}
const sliceSeconds = sliceSecondsOf(seconds);

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true;
    stopEverything().finally(() => process.exit(EXIT_CODES[signal]));
  });
}
try {
  if (options.peers) process.exitCode = publishPeers(await benchPeers(await neededCluster(), seconds));
  else if (options.growth)
    process.exitCode = publishGrowth(await benchGrowth(await neededCluster(), seconds));
  else if (options.soak)
    process.exitCode = publishSoak(await soak(await neededCluster(), Number(options.soak)));
  else process.exitCode = publish(await bench());
} catch (error) {
  // Its processes are ended under its hands then: what it says to that is no news.
  if (!interrupted) throw error;
} finally {
  await stopEverything();
}

async function bench(): Promise<Row[]> {
  const postgresUrl = await startCluster();
  const open = (engine: Place['engine'], notifications: number) => {
    console.log(`${notifications.toLocaleString('en')} notifications into ${engine} …`);
    return openPlace(engine, {
      notifications,
      postgresUrl,
      profileFolder: options.profile,
      startTwice: true,
    });
  };
  const places: Place[] = [];
  // PostgreSQL is there for the floors of the writes, even where it is not measured itself.
  if (postgresUrl) places.push(await open('postgres', NOTIFICATIONS));
  if (engines.includes('sqlite')) places.push(await open('sqlite', NOTIFICATIONS));
  const measured = places.filter(({ engine }) => engines.includes(engine));
  if (!measured[0]) throw new Error('PostgreSQL was not found');
  const floors = await openFloors(measured[0], places);

  const rows: Row[] = [];
  if (asked.includes('idle')) rows.push(...measured.flatMap(idle));
  // Before the writes, which make the lists longer.
  for (const place of options.rows ? measured : []) {
    rows.push(await compareSizes(place, (count) => open(place.engine, count), sliceSeconds));
  }
  for (const place of asked.includes('storm') ? measured : []) rows.push(await storm(place, seconds));
  for (const kind of ROW_KINDS.filter(({ id }) => asked.includes(id))) {
    console.log(`${kind.title} …`);
    rows.push(...(await compare(kind, floors, places, measured)));
  }
  if (asked.includes('idle')) rows.push(...measured.map(memoryAfter));
  return rows;
}

async function openFloors({ server, tokens, passwordHash, config }: Place, places: Place[]): Promise<Floors> {
  const bodies: Record<string, string> = {};
  for (const { path } of [LIST.requests[0], ME.requests[0]]) {
    const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${tokens[0]}` } });
    if (response.status !== 200) throw new Error(`${path} answers ${response.status}`);
    bodies[path] = await response.text();
    console.log(`${path} has ${Buffer.byteLength(bodies[path])} bytes`);
  }
  const bareHttp = await startBareHttp(bodies);
  const program = findProgram('pgbench');
  const postgres = places.find(({ engine }) => engine === 'postgres');
  return {
    async bareHttp(plan, connections) {
      const figures = await load({ server: bareHttp, tokens }, plan, connections, sliceSeconds);
      if (figures.errors > 0) throw new Error('bare node:http failed');
      return figures;
    },
    pgbench: program && postgres ? { program, place: postgres } : undefined,
    passwordHash,
    hashesAtOnce: config.hashesAtOnce,
    seconds: sliceSeconds,
  };
}

async function neededCluster(): Promise<string> {
  const url = await startCluster();
  if (!url) throw new Error('PostgreSQL was not found');
  return url;
}

/** Gives the exit code: an error among the responses makes the figures worthless, a missed target does not. */
function publish(rows: Row[]): number {
  const report: Report = { ...circumstances(), rows };
  write('bench', report, { bench: toSvg(report) });
  printTable(report);
  const failures = rows.reduce((sum, row) => sum + failuresOf(row), 0);
  const judged = rows.filter(hasTarget);
  const missed = judged.filter((row) => !reached(row)).length;
  console.log(`\n${missed} of ${judged.length} targets missed, ${failures} failed requests`);
  return failures > 0 ? 1 : 0;
}

function publishPeers(measured: Awaited<ReturnType<typeof benchPeers>>): number {
  const report: PeersReport = { ...circumstances(), ...measured, verdicts: judge(measured) };
  write('peers', report, { peers: peersSvg(report) });
  printPeers(report);
  const figures = report.rows.flatMap((row) => Object.values(row.figures));
  const failures = figures.reduce((sum, { errors }) => sum + errors, 0);
  const missed = report.verdicts.filter(({ met }) => !met).length;
  console.log(`\n${missed} of ${report.verdicts.length} targets missed, ${failures} failed requests`);
  return failures > 0 ? 1 : 0;
}

function publishGrowth(measured: Awaited<ReturnType<typeof benchGrowth>>): number {
  const report: GrowthReport = { ...circumstances(), ...measured };
  write('growth', report, growthSvgs(report));
  console.log(`\n${report.errors} failed requests`);
  return report.errors > 0 ? 1 : 0;
}

function publishSoak(report: SoakReport): number {
  write('soak', { ...circumstances(), ...report }, {});
  const { errors, p99DriftPercent, megabytesPerMinute } = report;
  console.log(
    `p99 drift ${p99DriftPercent.toFixed(1)}% (at most 20), memory ${megabytesPerMinute.toFixed(2)} MB a minute ` +
      `(at most 1), ${errors} failed requests`,
  );
  return errors > 0 ? 1 : 0;
}

function circumstances() {
  return {
    takenAt: new Date().toISOString(),
    machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? process.arch}`,
    node: process.version,
    seconds,
  };
}

/** The figures and their pictures, into docs/. */
function write(name: string, report: object, pictures: Record<string, string>): void {
  const docs = new URL('../docs/', import.meta.url);
  mkdirSync(docs, { recursive: true });
  writeFileSync(new URL(`${name}.json`, docs), `${JSON.stringify(report, null, 2)}\n`);
  for (const [picture, svg] of Object.entries(pictures)) writeFileSync(new URL(`${picture}.svg`, docs), svg);
}
