import pg from 'pg';
import type { Service } from '../scripts/services.ts';

/** Stops every process of a PostgreSQL in the middle of what it does; gives how to let them go on. */
export async function freeze(postgres: Service): Promise<() => void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const pids = [postgres.process.pid!];
  // First of all, so that it makes no more of them.
  process.kill(postgres.process.pid!, 'SIGSTOP');
  try {
    // Every backend is a process of its own, in a group of its own.
    const { rows } = await client.query('select pid from pg_stat_activity where pid <> pg_backend_pid()');
    for (const { pid } of rows) {
      process.kill(pid, 'SIGSTOP');
      pids.push(pid);
    }
  } finally {
    await client.end();
  }
  return () => {
    for (const pid of pids.splice(0)) process.kill(pid, 'SIGCONT');
  };
}
