import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../src/database/database.ts';
import type { Instance } from './instance.ts';
import type { ServerProcess } from './processes.ts';

/** Seconds of CPU time. Those of all processes of PostgreSQL are absent on SQLite. */
export interface Cpu {
  server: number;
  postgres?: number;
}

const TICKS_PER_SECOND = 100;

/** Of the server, and of the PostgreSQL that its instance uses. */
export async function cpuTimer(instance: Instance, server: ServerProcess) {
  const postmaster = await instance.query(findPostmaster);
  const used = (): Cpu => ({
    server: server.cpuSeconds(),
    ...(postmaster ? { postgres: cpuSecondsOfPostgres(postmaster) } : {}),
  });
  const of = async (work: () => Promise<unknown>): Promise<Cpu> => {
    const before = used();
    await work();
    const after = used();
    return {
      server: after.server - before.server,
      ...(postmaster ? { postgres: after.postgres! - before.postgres! } : {}),
    };
  };
  return {
    of,
    /** Measured for `ms`. */
    perMinute: async (ms: number): Promise<Cpu> => timesCpu(await of(() => sleep(ms)), 60_000 / ms),
  };
}

export const timesCpu = ({ server, postgres }: Cpu, times: number): Cpu => ({
  server: times * server,
  ...(postgres === undefined ? {} : { postgres: times * postgres }),
});

async function findPostmaster(database: Database): Promise<number | undefined> {
  if (database.engine !== 'postgres') return undefined;
  const row = await database.one<{ pid: number }>('select pg_backend_pid() as pid');
  return statOf(row!.pid)?.parent;
}

/** Of all its processes, with those that have ended. */
function cpuSecondsOfPostgres(postmaster: number): number {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => ({ pid: Number(name), ...statOf(Number(name)) }));
  return stats.reduce((sum, { pid, parent, own = 0, ended = 0 }) => {
    if (pid === postmaster) return sum + own + ended;
    return parent === postmaster ? sum + own : sum;
  }, 0);
}

function statOf(pid: number): { parent: number; own: number; ended: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').map(Number);
    const seconds = (first: number) => (fields[first]! + fields[first + 1]!) / TICKS_PER_SECOND;
    return { parent: fields[1]!, own: seconds(11), ended: seconds(13) };
  } catch {
    // It has just ended.
    return undefined;
  }
}
