import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startCluster } from './cluster.ts';
import { type Connections, MANY, NOTIFICATIONS } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import { load, median, WARM_UP_SECONDS } from './measure.ts';
import { MORE_WRITES, ROW_KINDS } from './rows.ts';

/** This version and another one, which take turns. What counts is the ratio: both see the same disturbances. */
export interface AgainstRow {
  id: string;
  engine: Instance['engine'];
  perSecond: Pair;
  /** CPU time of the server and of PostgreSQL's processes for one request. */
  cpuMicros: Pair;
  /** PostgreSQL's part of it. */
  databaseMicros: Pair;
  errors: number;
}
interface Pair {
  here: number;
  there: number;
  ratio: number;
}

const TURNS = 5;
/** "Nothing is slower by more than this." */
export const RATIO_MIN = 0.95;

/** `folder` is another checkout of this repository, with its dependencies. */
export async function benchAgainst(
  folder: string,
  engines: readonly Instance['engine'][],
  { seconds, rowIds }: { seconds: number; rowIds: readonly string[] },
): Promise<AgainstRow[]> {
  const other = (await import(pathToFileURL(resolve(folder, 'bench/instance.ts')).href)) as {
    openInstance: typeof openInstance;
  };
  const rows: AgainstRow[] = [];
  for (const engine of engines) {
    const open = async (from: typeof openInstance) =>
      from(engine, { notifications: NOTIFICATIONS, postgresUrl: await startCluster() });
    const here = await open(openInstance);
    const there = await open(other.openInstance);
    try {
      for (const kind of [...ROW_KINDS, ...MORE_WRITES]) {
        if (rowIds.includes(kind.id)) rows.push(await compareRow(kind, { here, there }, seconds));
      }
    } finally {
      await here.remove();
      await there.remove();
    }
  }
  return rows;
}

async function compareRow(
  kind: (typeof MORE_WRITES)[number],
  { here, there }: { here: Instance; there: Instance },
  seconds: number,
): Promise<AgainstRow> {
  const turns: { here: Turn; there: Turn }[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const instance of [here, there]) await kind.prepare?.(instance);
    const measure = (instance: Instance) =>
      measureTurn(instance, kind.plan(seconds + WARM_UP_SECONDS), MANY, seconds);
    // The first of a turn may find a busier machine than the second.
    const [first, second] = turn % 2 === 0 ? [here, there] : [there, here];
    const figures = new Map([[first, await measure(first)]]);
    figures.set(second, await measure(second));
    turns.push({ here: figures.get(here)!, there: figures.get(there)! });
  }
  const pair = (of: (turn: Turn) => number, better: 'more' | 'less'): Pair => ({
    here: median(turns.map((turn) => of(turn.here))),
    there: median(turns.map((turn) => of(turn.there))),
    ratio: median(
      turns.map((turn) =>
        better === 'more' ? of(turn.here) / of(turn.there) : of(turn.there) / of(turn.here),
      ),
    ),
  });
  return {
    id: kind.id,
    engine: here.engine,
    perSecond: pair(({ perSecond }) => perSecond, 'more'),
    cpuMicros: pair(({ cpuMicros }) => cpuMicros, 'less'),
    databaseMicros: pair(({ databaseMicros }) => databaseMicros, 'less'),
    errors: turns.reduce((sum, turn) => sum + turn.here.errors + turn.there.errors, 0),
  };
}

interface Turn {
  perSecond: number;
  cpuMicros: number;
  databaseMicros: number;
  errors: number;
}

async function measureTurn(
  instance: Instance,
  plan: Parameters<typeof load>[1],
  connections: Connections,
  seconds: number,
): Promise<Turn> {
  const before = { server: instance.server.cpuSeconds(), database: await databaseSeconds(instance) };
  const { perSecond, requests, errors } = await load(instance, plan, connections, seconds);
  let database = 0;
  for (const [pid, cpuSeconds] of await databaseSeconds(instance))
    database += Math.max(cpuSeconds - (before.database.get(pid) ?? 0), 0);
  const used = instance.server.cpuSeconds() - before.server + database;
  const each = (cpuSeconds: number) => (cpuSeconds / requests) * 1e6;
  return { perSecond, errors, cpuMicros: each(used), databaseMicros: each(database) };
}

/** CPU time of each connection that the server has open to PostgreSQL. It closes those that are idle for a while. */
async function databaseSeconds({ config }: Instance): Promise<Map<number, number>> {
  if (config.databaseUrl === undefined) return new Map();
  const client = new pg.Client(config.databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name like 'deskbell%' and datname = current_database()`,
  );
  await client.end();
  return new Map(rows.map(({ pid }) => [pid, cpuSecondsOf(pid)]));
}

const TICKS_PER_SECOND = 100;
function cpuSecondsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

export function printAgainst(rows: readonly AgainstRow[]): void {
  console.log(
    '\nrow       engine     here/s  there/s  ratio   CPU µs here  there  ratio   of PostgreSQL here  there',
  );
  for (const { id, engine, perSecond, cpuMicros, databaseMicros, errors } of rows) {
    const cells = [
      id.padEnd(9),
      engine.padEnd(9),
      perSecond.here.toFixed(0).padStart(7),
      perSecond.there.toFixed(0).padStart(8),
      perSecond.ratio.toFixed(2).padStart(6),
      cpuMicros.here.toFixed(0).padStart(13),
      cpuMicros.there.toFixed(0).padStart(6),
      cpuMicros.ratio.toFixed(2).padStart(6),
      databaseMicros.here.toFixed(0).padStart(20),
      databaseMicros.there.toFixed(0).padStart(6),
      ...(errors > 0 ? [`  ${errors} errors`] : []),
    ];
    console.log(cells.join(' '));
  }
}
