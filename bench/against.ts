import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startCluster } from './cluster.ts';
import { MANY, NOTIFICATIONS } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import { load, WARM_UP_SECONDS } from './measure.ts';
import { MORE_WRITES, ROW_KINDS } from './rows.ts';
import { compareSending, SENT } from './sending.ts';
import { type AgainstRow, takeTurns, type Versions, withCpuTime } from './turns.ts';

/** "Nothing is slower by more than this." */
export const RATIO_MIN = 0.95;

export const AGAINST_IDS = [...ROW_KINDS.map(({ id }) => id), ...MORE_WRITES.map(({ id }) => id), SENT.id];

/** `folder` is another checkout of this repository, with its dependencies. */
export async function benchAgainst(
  folder: string,
  engines: readonly Instance['engine'][],
  { seconds, rowIds }: { seconds: number; rowIds: readonly string[] },
): Promise<AgainstRow[]> {
  const other = (await import(pathToFileURL(resolve(folder, 'bench/instance.ts')).href)) as {
    openInstance: typeof openInstance;
  };
  const kinds = [...ROW_KINDS, ...MORE_WRITES].filter(({ id }) => rowIds.includes(id));
  const rows: AgainstRow[] = [];
  for (const engine of engines) {
    /** Runs the work on both, with their own data. */
    const withBoth = async (notifications: number, work: (versions: Versions) => Promise<void>) => {
      const opened: Instance[] = [];
      // One cluster each: both give their databases the same names.
      for (const open of [openInstance, other.openInstance])
        opened.push(await open(engine, { notifications, postgresUrl: await startCluster() }));
      try {
        await work({ here: opened[0]!, there: opened[1]! });
      } finally {
        for (const instance of opened) await instance.remove();
      }
    };
    if (kinds.length > 0)
      await withBoth(NOTIFICATIONS, async (versions) => {
        for (const kind of kinds)
          rows.push(
            await takeTurns(kind.id, versions, {
              prepare: async (instance) => kind.prepare?.(instance),
              measure: (instance) =>
                withCpuTime(instance, instance.server, async () => {
                  const plan = kind.plan(seconds + WARM_UP_SECONDS);
                  const { perSecond, requests, errors } = await load(instance, plan, MANY, seconds);
                  return { perSecond, count: requests, errors };
                }),
            }),
          );
      });
    if (rowIds.includes(SENT.id))
      await withBoth(SENT.notifications, async (versions) => void rows.push(await compareSending(versions)));
  }
  return rows;
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
