import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { TRY_LOCK_UNTIL_COMMIT, tryLockName } from './locks.ts';
import { arrives } from './signals.ts';

/** Whether an engine that speaks PostgreSQL's protocol has what several processes on one database rely on. */

/** PostgreSQL itself, with any extensions: "PostgreSQL 17.2 (Debian 17.2-1.pgdg120+1) on x86_64-…". */
export const isPostgres = (version: string): boolean =>
  /^PostgreSQL \d+(\.\d+)*\S* (\(|on )/.test(version) && !/-YB-/.test(version);

const ADVICE = 'Use PostgreSQL 15 or newer, with or without Citus.';
const NO_LOCKS = `On this database a lock does not hold: two processes could migrate, or send the same message, at the same time. ${ADVICE}`;
const NO_SIGNALS = `On this database signals (LISTEN, NOTIFY) do not arrive: servers would not notice what others write. ${ADVICE}`;

/** One line for the operator. Undefined if everything works. */
export async function engineProblem(newClient: () => pg.Client): Promise<string | undefined> {
  const clients = [newClient(), newClient()] as const;
  try {
    await Promise.all(clients.map((client) => client.connect()));
    return await problemOf(...clients);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return `This database refuses a lock or a signal: ${error.message}. ${ADVICE}`;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

async function problemOf(one: pg.Client, other: pg.Client): Promise<string | undefined> {
  const name = `deskbell probe ${randomUUID()}`;
  if (!(await tryLockName(one, name)) || (await tryLockName(other, name))) return NO_LOCKS;
  await other.query('begin');
  const { rows } = await other.query<{ locked: boolean }>(TRY_LOCK_UNTIL_COMMIT, [name]);
  await other.query('rollback');
  if (rows[0]?.locked) return NO_LOCKS;
  return (await arrives(one, other, name)) ? undefined : NO_SIGNALS;
}
