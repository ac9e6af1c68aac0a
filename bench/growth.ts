import type { Engine } from '../src/database/database.ts';
import { MANY, NOTIFICATIONS, ONE } from './data.ts';
import type { GrowthReport, Line } from './growthReport.ts';
import { type Instance, openInstance } from './instance.ts';
import { load, sliceSecondsOf, type Target, WARM_UP_SECONDS } from './measure.ts';
import { changedList, LIST, ME, type Plan, ROW_KINDS } from './rows.ts';

/** How cost grows: with connections, with rows, with processes. */

const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const SIZES = [NOTIFICATIONS / 10, NOTIFICATIONS, NOTIFICATIONS * 10];
const PROCESSES = [1, 2, 4];
const ENGINES = ['postgres', 'sqlite'] as const satisfies Engine[];

const raise = () => ROW_KINDS.find(({ id }) => id === 'request')!.plan(1);
/** Reads first, because raised notifications make the lists longer. */
const WORK: readonly { title: string; plan(): Plan }[] = [
  { title: 'list', plan: () => LIST },
  { title: 'me', plan: () => ME },
  { title: 'raise', plan: raise },
];

export async function benchGrowth(
  postgresUrl: string,
  seconds: number,
): Promise<Pick<GrowthReport, 'connections' | 'sizes' | 'processes' | 'errors'>> {
  const sliceSeconds = sliceSecondsOf(seconds);
  const report: Awaited<ReturnType<typeof benchGrowth>> = {
    connections: [],
    sizes: [],
    processes: [],
    errors: 0,
  };
  const measure = async (target: Target, plan: Plan, connections: number) => {
    const figures = await load(target, plan, connections, sliceSeconds);
    report.errors += figures.errors;
    return figures;
  };

  for (const engine of ENGINES) {
    // All sizes for the rows; the other measurements use the middle one.
    const instances: Instance[] = [];
    for (const notifications of SIZES) {
      console.log(`Loading ${notifications.toLocaleString('en')} notifications into ${engine} …`);
      instances.push(await openInstance(engine, { notifications, postgresUrl }));
    }
    report.sizes.push(...(await growRows(engine, instances, sliceSeconds, measure)));
    const [small, middle, large] = instances as [Instance, Instance, Instance];
    await small.remove();
    await large.remove();
    report.connections.push(...(await growConnections(middle, measure)));
    if (engine === 'postgres') report.processes.push(...(await growProcesses(middle, measure)));
    await middle.remove();
  }
  return report;
}

type Measure = (target: Target, plan: Plan, connections: number) => ReturnType<typeof load>;

async function growRows(
  engine: Engine,
  instances: readonly Instance[],
  seconds: number,
  measure: Measure,
): Promise<Line[]> {
  const work: readonly { title: string; plan(): Plan }[] = [
    { title: 'list, changed', plan: () => changedList(seconds + WARM_UP_SECONDS) },
    { title: 'list, unchanged', plan: () => LIST },
    { title: 'raise', plan: raise },
  ];
  const lines: Line[] = [];
  for (const { title, plan } of work) {
    const points: Line['points'] = [];
    for (const [index, instance] of instances.entries()) {
      // With one connection the latency is the processing time alone.
      points.push({ x: SIZES[index]!, ...(await measure(instance, plan(), ONE)) });
    }
    lines.push(printed({ title, engine, points }));
  }
  return lines;
}

async function growConnections(instance: Instance, measure: Measure): Promise<Line[]> {
  const lines: Line[] = [];
  for (const { title, plan } of WORK) {
    const points: Line['points'] = [];
    for (const x of CONNECTIONS) points.push({ x, ...(await measure(instance, plan(), x)) });
    lines.push(printed({ title, engine: instance.engine, points }));
  }
  return lines;
}

/** More processes on one database; the load's connections are spread over them. */
async function growProcesses(instance: Instance, measure: Measure): Promise<Line[]> {
  const others = [];
  for (let count = 1; count < Math.max(...PROCESSES); count += 1) others.push(await instance.startAnother());
  const lines: Line[] = [];
  for (const { title, plan } of WORK) {
    const points: Line['points'] = [];
    for (const x of PROCESSES) {
      points.push({ x, ...(await measure({ ...instance, others: others.slice(0, x - 1) }, plan(), MANY)) });
    }
    lines.push(printed({ title, engine: instance.engine, points }));
  }
  for (const other of others) await other.stop();
  return lines;
}

/** Prints the progress, and returns the line. */
function printed(line: Line): Line {
  const count = (value: number) => Math.round(value).toLocaleString('en');
  const points = line.points.map(
    ({ x, perSecond, p50Ms, p99Ms, errors }) =>
      `${count(x)}: ${count(perSecond)}/s, p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(1)} ms` +
      (errors > 0 ? `, ${errors} errors` : ''),
  );
  console.log([`${line.title}, ${line.engine}`, ...points].join('\n  '));
  return line;
}
