import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../src/database/database.ts';
import { type Connections, MANY, NOTIFICATIONS, ONE } from './data.ts';
import type { Figures } from './load.ts';
import type { Place } from './place.ts';
import { runLoad } from './processes.ts';
import type { Row, ServiceFigures } from './report.ts';
import { changedList, type Floors, LIST, type Plan, type RowKind, SIGN_IN } from './rows.ts';

/** How each row is taken. */

/** Floor and services take turns so often, and the middle slice counts: a noise in one of them does not. */
const SLICES = 3;
const WARM_UP_SECONDS = 0.5;
/** Until every connection of the storm waits in line. */
const STORM_LEAD_SECONDS = 1;

export const sliceSecondsOf = (seconds: number) => Math.ceil(seconds / SLICES);

export function load(
  port: number,
  tokens: readonly string[],
  { requests, once = false }: Plan,
  connections: Connections,
  seconds: number,
): Promise<Figures> {
  return runLoad({ port, tokens, requests, once, connections, seconds, warmUpSeconds: WARM_UP_SECONDS });
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
      const figures = await loadPlace(place, kind, connections, floors.seconds);
      slices.get(place)!.push({ connections, figures, floorPerSecond });
    }
  }
  return measured.map((place) => toRow(kind, place.engine, slices.get(place)!));
}

async function loadPlace(
  { server, tokens }: Place,
  kind: RowKind,
  connections: Connections,
  seconds: number,
): Promise<ServiceFigures> {
  const cpuBefore = server.cpuSeconds();
  const plan = kind.plan(seconds + WARM_UP_SECONDS);
  const figures = await load(server.port, tokens, plan, connections, seconds);
  return { ...figures, cpuMicros: ((server.cpuSeconds() - cpuBefore) / figures.requests) * 1e6 };
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
    target: { atLeast: kind.target[engine] },
  };
}

function middle(figures: readonly ServiceFigures[]): ServiceFigures {
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
export async function storm({ engine, server, tokens }: Place, seconds: number): Promise<Row> {
  const storming = runLoad({
    port: server.port,
    tokens,
    requests: SIGN_IN.requests,
    once: false,
    connections: MANY,
    warmUpSeconds: 0,
    seconds: STORM_LEAD_SECONDS + WARM_UP_SECONDS + seconds + 1,
  });
  await sleep(STORM_LEAD_SECONDS * 1000);
  const figures = await load(server.port, tokens, LIST, ONE, seconds);
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
    const p50Ms = async ({ server, tokens }: Place) =>
      (await load(server.port, tokens, changedList(seconds + WARM_UP_SECONDS), ONE, seconds)).p50Ms;
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
