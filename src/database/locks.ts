import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseProblem } from './database.ts';

/**
 * Locks on names: PostgreSQL's advisory locks. All SQL with them is here, because other engines that speak PostgreSQL's
 * protocol differ in them, and a lock that does not hold is not noticed until two processes do the same thing:
 *
 *   Citus         on the coordinator, as in PostgreSQL; every process connects to it
 *   CockroachDB   the functions of a session exist and do nothing (cockroachdb/cockroach#13546, #169981);
 *                 those of a transaction hold only in versions from 2026 on (#168353)
 *   YugabyteDB    not supported before 2025 (yugabyte/yugabyte-db#3642)
 *
 * So probe.ts tries whether a lock holds.
 */

/** The number of a name. */
const numberOf = (name: string) => `hashtextextended(${name}, 0)`;

/** SQL, in a transaction: waits for the lock on the name that an expression has. It ends with the transaction. */
export const lockUntilCommit = (name: string): string => `pg_advisory_xact_lock(${numberOf(name)})`;
/** SQL, in a transaction: the lock on the name $1 or nothing, as `locked`. */
export const TRY_LOCK_UNTIL_COMMIT = `select pg_try_advisory_xact_lock(${numberOf('$1')}) as locked`;

/** SQL: a shared lock on the name $1, which ends with the connection. */
export const ANNOUNCE = `select pg_advisory_lock_shared(${numberOf('$1')})`;

/** PostgreSQL keeps the number of a lock as two halves of 32 bits. */
const IS_HELD = (
  locks: string,
) => `${locks}.locktype = 'advisory' and ${locks}.objsubid = 1 and ${locks}.granted
    and ${locks}.database = (select oid from pg_database where datname = current_database())
    and (${locks}.classid::bigint << 32) | ${locks}.objid::bigint = ${numberOf('$1')}`;

/** How many processes hold the lock on the name $1. */
export const COUNT_ANNOUNCED = `select count(*) as announced from pg_locks l where ${IS_HELD('l')}`;

/** False if another connection holds it. It ends with the connection. */
export async function tryLockName(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${numberOf('$1')}) as locked`,
    [name],
  );
  return rows[0]?.locked === true;
}

/** Says who holds the lock, for `heldProblem`. PostgreSQL cuts it at 63 bytes. */
export const lockOwnerName = (name: string): string =>
  `deskbell ${name}, process ${process.pid} on ${hostname()}`;

const waitText = (name: string, waitMs: number) =>
  `Another process is busy with the database (${name}). Waiting for it, up to ${Math.round(waitMs / 1000)} seconds …`;

const TRY_EVERY_MS = 100;

/**
 * Tries again and again instead of waiting inside PostgreSQL: a statement that waits there has a snapshot, and building
 * an index concurrently would wait for it.
 */
export async function lockName(
  client: pg.ClientBase,
  name: string,
  waitMs: number,
  onWait: (why: string) => void,
): Promise<void> {
  let isSaid = false;
  const giveUpAt = performance.now() + waitMs;
  for (;;) {
    if (await tryLockName(client, name)) return;
    if (performance.now() > giveUpAt) throw await heldProblem(client, name, waitMs);
    if (!isSaid) onWait(waitText(name, waitMs));
    isSaid = true;
    await sleep(TRY_EVERY_MS);
  }
}

/** Who holds the lock on the name $1. */
export const HOLDER = `select l.pid, a.application_name as owner,
    to_char(a.backend_start at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS') as since
  from pg_locks l left join pg_stat_activity a on a.pid = l.pid
  where ${IS_HELD('l')}`;

export interface Holder {
  pid: number;
  owner: string | null;
  since: string | null;
}

/** "deskbell migrate, process 12 on shop-1, since 2026-01-15 09:30:00 UTC" */
export const holderText = ({ owner, since }: Holder): string =>
  `${owner || 'a connection'}, since ${since} UTC`;

async function heldProblem(client: pg.ClientBase, name: string, waitMs: number): Promise<DatabaseProblem> {
  const { rows } = await client.query<Holder>(HOLDER, [name]);
  const [holder] = rows;
  const who = holder ? holderText(holder) : 'another process';
  return new DatabaseProblem(
    `After ${Math.round(waitMs / 1000)} seconds, the database is still locked for "${name}" by ${who}. ` +
      `Wait until it has finished, and try again.${
        holder ? ` If it hangs, end it in PostgreSQL: select pg_terminate_backend(${holder.pid});` : ''
      }`,
  );
}
