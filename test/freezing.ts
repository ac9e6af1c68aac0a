import pg from 'pg';
import type { Service } from '../scripts/services.ts';

/** Pauses every process of a PostgreSQL server. Returns a function that resumes them. */
export async function freeze(postgres: Service): Promise<() => void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const pids = [postgres.process.pid!];
  // The main process first, so that it starts no more of them.
  process.kill(postgres.process.pid!, 'SIGSTOP');
  try {
    // Every backend is a separate process in its own process group.
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
