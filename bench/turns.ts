import { cpuTimer } from './cpu.ts';
import type { Instance } from './instance.ts';
import { median } from './measure.ts';
import type { ServerProcess } from './processes.ts';

/** This version and another one, which take turns. What counts is the ratio: both see the same disturbances. */
export interface AgainstRow {
  id: string;
  engine: Instance['engine'];
  perSecond: Pair;
  /** CPU time of the server and of PostgreSQL's processes for one request or message. */
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
export interface Versions {
  here: Instance;
  there: Instance;
}
interface Turn {
  perSecond: number;
  cpuMicros: number;
  databaseMicros: number;
  errors: number;
}

const TURNS = 5;

export async function takeTurns(
  id: string,
  { here, there }: Versions,
  {
    prepare,
    measure,
  }: { prepare(instance: Instance): Promise<void>; measure(instance: Instance): Promise<Turn> },
): Promise<AgainstRow> {
  const turns: { here: Turn; there: Turn }[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const instance of [here, there]) await prepare(instance);
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
    id,
    engine: here.engine,
    perSecond: pair(({ perSecond }) => perSecond, 'more'),
    cpuMicros: pair(({ cpuMicros }) => cpuMicros, 'less'),
    databaseMicros: pair(({ databaseMicros }) => databaseMicros, 'less'),
    errors: turns.reduce((sum, turn) => sum + turn.here.errors + turn.there.errors, 0),
  };
}

interface Work {
  perSecond: number;
  /** Requests or messages. */
  count: number;
  errors: number;
}

/** With the CPU time that a server and its PostgreSQL took for the work. */
export async function withCpuTime(
  instance: Instance,
  server: ServerProcess,
  work: () => Promise<Work>,
): Promise<Turn> {
  const timer = await cpuTimer(instance, server);
  let done: Work | undefined;
  const { server: ofServer, postgres = 0 } = await timer.of(async () => {
    done = await work();
  });
  const { perSecond, count, errors } = done!;
  const each = (cpuSeconds: number) => (cpuSeconds / count) * 1e6;
  return { perSecond, errors, cpuMicros: each(ofServer + postgres), databaseMicros: each(postgres) };
}
