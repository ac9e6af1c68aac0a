import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../src/database/database.ts';
import { type Connections, MANY, NOTIFICATIONS, ONE } from './data.ts';
import type { Instance } from './instance.ts';
import { BEARER, type Dialect, type Figures } from './load.ts';
import { runLoad, type ServerProcess } from './processes.ts';
import type { Row, ServiceFigures } from './report.ts';
import { changedList, type Floors, LIST, type Plan, type RowKind, SIGN_IN } from './rows.ts';

/** How each row is measured. */

/** The floor and the services take turns this many times. The median slice counts, so noise in one has no effect. */
export const SLICES = 3;
export const WARM_UP_SECONDS = 0.5;
/** The time until every sign-in connection waits in the queue. */
const STORM_LEAD_SECONDS = 1;

export const sliceSecondsOf = (seconds: number) => Math.ceil(seconds / SLICES);

/** The target of the load. */
export interface Target {
  server: { port: number };
  tokens: readonly string[];
  dialect?: Dialect;
  /** Other processes of the same service, which share the load. */
  others?: readonly { port: number }[];
}

export function load(
  { server, others = [], tokens, dialect = BEARER }: Target,
  { requests, once = false }: Plan,
  connections: number,
  seconds: number,
): Promise<Figures> {
  const ports = [server, ...others].map(({ port }) => port);
  const warmUpSeconds = WARM_UP_SECONDS;
  return runLoad({ ports, dialect, tokens, requests, once, connections, seconds, warmUpSeconds });
}

interface Slice {
  connections: Connections;
  figures: ServiceFigures;
  floorPerSecond: number | undefined;
}

/** Measures a row on each instance. The other instances are only for the floors. */
export async function compare(
  kind: RowKind,
  floors: Floors,
  instances: readonly Instance[],
  measured: readonly Instance[],
): Promise<Row[]> {
  const slices = new Map<Instance, Slice[]>(measured.map((instance) => [instance, []]));
  for (const connections of [MANY, MANY, MANY, ONE] satisfies Connections[]) {
    for (const instance of instances) await kind.prepare?.(instance);
    const floorPerSecond = (await kind.floor(floors, connections))?.perSecond;
    for (const instance of measured) {
      const figures = await loadServer(
        instance,
        kind.plan(floors.seconds + WARM_UP_SECONDS),
        connections,
        floors.seconds,
      );
      slices.get(instance)!.push({ connections, figures, floorPerSecond });
    }
  }
  return measured.map((instance) => toRow(kind, instance.engine, slices.get(instance)!));
}

/** Like `load`, with the server's CPU time. */
export async function loadServer(
  target: Target & { server: ServerProcess },
  plan: Plan,
  connections: Connections,
  seconds: number,
): Promise<ServiceFigures> {
  const cpuBefore = target.server.cpuSeconds();
  const figures = await load(target, plan, connections, seconds);
  return { ...figures, cpuMicros: ((target.server.cpuSeconds() - cpuBefore) / figures.requests) * 1e6 };
}

function toRow(kind: RowKind, engine: Engine, slices: readonly Slice[]): Row {
  const many = slices.filter(({ connections }) => connections === MANY);
  const one = slices.filter(({ connections }) => connections === ONE);
  const floorOf = (some: readonly Slice[]) =>
    median(some.map(({ floorPerSecond = Number.NaN }) => floorPerSecond));
  return {
    id: kind.id,
    title: kind.title,
    engine,
    many: middle(many.map(({ figures }) => figures)),
    one: middle(one.map(({ figures }) => figures)),
    floor: { title: kind.floorTitle, many: floorOf(many), one: floorOf(one) },
    // With many connections, because a single one waits for the network most of the time.
    value: median(many.map(({ figures, floorPerSecond = Number.NaN }) => figures.perSecond / floorPerSecond)),
    unit: 'of floor',
    target: kind.target ? { atLeast: kind.target[engine] } : {},
  };
}

export function middle(figures: readonly ServiceFigures[]): ServiceFigures {
  const of = (key: keyof ServiceFigures) => median(figures.map((each) => each[key]));
  return {
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    cpuMicros: of('cpuMicros'),
    requests: figures.reduce((sum, each) => sum + each.requests, 0),
    errors: figures.reduce((sum, each) => sum + each.errors, 0),
  };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** The latency of the list while 32 connections sign in. */
export async function storm(instance: Instance, seconds: number): Promise<Row> {
  const { engine, server, tokens } = instance;
  const signIns = runLoad({
    ports: [server.port],
    dialect: BEARER,
    tokens,
    requests: SIGN_IN.requests,
    once: false,
    connections: MANY,
    warmUpSeconds: 0,
    seconds: STORM_LEAD_SECONDS + WARM_UP_SECONDS + seconds + 1,
  });
  await sleep(STORM_LEAD_SECONDS * 1000);
  const figures = await load(instance, LIST, ONE, seconds);
  figures.errors += (await signIns).errors;
  return {
    id: 'storm',
    title: `list while ${MANY} sign in, p99`,
    engine,
    one: figures,
    value: figures.p99Ms,
    unit: 'ms',
    target: { atMost: 50 },
  };
}

/** Shows that the list is as fast with ten times the rows. */
export async function compareSizes(
  small: Instance,
  openLarge: (notifications: number) => Promise<Instance>,
  seconds: number,
): Promise<Row> {
  const large = await openLarge(NOTIFICATIONS * 10);
  const ratios: number[] = [];
  for (let slice = 0; slice < SLICES; slice += 1) {
    const p50Ms = async (instance: Instance) =>
      (await load(instance, changedList(seconds + WARM_UP_SECONDS), ONE, seconds)).p50Ms;
    const before = await p50Ms(small);
    ratios.push((await p50Ms(large)) / before);
  }
  await large.remove();
  return {
    id: 'rows',
    title: 'list, p50 with 10 times the rows',
    engine: small.engine,
    value: median(ratios),
    unit: 'of small',
    target: { atLeast: 0.8, atMost: 1.2 },
  };
}

export function idle({ engine, server, idleMegabytes }: Instance): Row[] {
  return [
    { id: 'idle', title: 'memory, idle', engine, value: idleMegabytes, unit: 'MB', target: { atMost: 120 } },
    { id: 'ready', title: 'ready', engine, value: server.readySeconds, unit: 's', target: { atMost: 1 } },
  ];
}

/** To compare with the idle memory. */
export function memoryAfter({ engine, server }: Instance): Row {
  const value = server.residentMegabytes();
  return { id: 'memory', title: 'memory, after the load', engine, value, unit: 'MB', target: {} };
}
