import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../src/database/database.ts';
import { type Connections, MANY, NOTIFICATIONS, ONE } from './data.ts';
import { BEARER, type Dialect, type Figures } from './load.ts';
import type { Place } from './place.ts';
import { runLoad, type ServerProcess } from './processes.ts';
import type { Row, ServiceFigures } from './report.ts';
import { changedList, type Floors, LIST, type Plan, type RowKind, SIGN_IN } from './rows.ts';

/** How each row is taken. */

/** Floor and services take turns so often, and the middle slice counts: a noise in one of them does not. */
export const SLICES = 3;
export const WARM_UP_SECONDS = 0.5;
/** Until every connection of the storm waits in line. */
const STORM_LEAD_SECONDS = 1;

export const sliceSecondsOf = (seconds: number) => Math.ceil(seconds / SLICES);

/** Whom the load asks. */
export interface Target {
  server: { port: number };
  tokens: readonly string[];
  dialect?: Dialect;
  /** Other processes of the same service, which take their share. */
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

/** The row of each measured place. The other places serve the floors. */
export async function compare(
  kind: RowKind,
  floors: Floors,
  places: readonly Place[],
  measured: readonly Place[],
): Promise<Row[]> {
  const slices = new Map<Place, Slice[]>(measured.map((place) => [place, []]));
  for (const connections of [MANY, MANY, MANY, ONE] satisfies Connections[]) {
    for (const place of places) await kind.prepare?.(place);
    const floorPerSecond = (await kind.floor(floors, connections))?.perSecond;
    for (const place of measured) {
      const figures = await loadServer(
        place,
        kind.plan(floors.seconds + WARM_UP_SECONDS),
        connections,
        floors.seconds,
      );
      slices.get(place)!.push({ connections, figures, floorPerSecond });
    }
  }
  return measured.map((place) => toRow(kind, place.engine, slices.get(place)!));
}

/** As `load`, with the server's processor time. */
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
    // The work that many share is what counts; one alone waits for the network most of its time.
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** How long the list takes while as many sign in as there are connections. */
export async function storm(place: Place, seconds: number): Promise<Row> {
  const { engine, server, tokens } = place;
  const storming = runLoad({
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
  const figures = await load(place, LIST, ONE, seconds);
  figures.errors += (await storming).errors;
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

/** A list is as quick with ten times the rows in the table. */
export async function compareSizes(
  small: Place,
  openLarge: (notifications: number) => Promise<Place>,
  seconds: number,
): Promise<Row> {
  const large = await openLarge(NOTIFICATIONS * 10);
  const ratios: number[] = [];
  for (let slice = 0; slice < SLICES; slice += 1) {
    const p50Ms = async (place: Place) =>
      (await load(place, changedList(seconds + WARM_UP_SECONDS), ONE, seconds)).p50Ms;
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

export function idle({ engine, server, idleMegabytes }: Place): Row[] {
  return [
    { id: 'idle', title: 'memory, idle', engine, value: idleMegabytes, unit: 'MB', target: { atMost: 120 } },
    { id: 'ready', title: 'ready', engine, value: server.readySeconds, unit: 's', target: { atMost: 1 } },
  ];
}

/** Beside the idle one: what the rows have left behind. */
export function memoryAfter({ engine, server }: Place): Row {
  const value = server.residentMegabytes();
  return { id: 'memory', title: 'memory, after the load', engine, value, unit: 'MB', target: {} };
}
