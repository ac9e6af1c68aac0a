import type pg from 'pg';
import { DatabaseProblem } from './database.ts';
import { connectionProblem } from './postgresErrors.ts';
import { COMMIT_MIN_MS, QUERY_TIMEOUT_MS, type Query, type Statement } from './postgresStatements.ts';

/** The time-outs of our sessions in the server, and how they hold behind PgBouncer, whose sessions are not ours. */

/** Of the connections for requests. Others have other names. */
export const APPLICATION_NAME = 'deskbell';

/**
 * Longer than the query time-out. A server whose commit waits for its standby stops waiting at the statement time-out,
 * and then reports a commit that exists on no other machine. By then we no longer read its reply.
 */
const STATEMENT_TIMEOUT_MS = QUERY_TIMEOUT_MS + 1000;

/**
 * For locks: less than the query time-out, so that writes which wait for one and are committed together fail in time for
 * the answer to say so.
 */
export const LOCK_TIMEOUT_MS = QUERY_TIMEOUT_MS - COMMIT_MIN_MS;

/** PgBouncer refuses them when a session begins, unless it is told to ignore them. */
export const SESSION_TIMEOUTS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: QUERY_TIMEOUT_MS,
};

const BEGIN: readonly Statement[] = [{ sql: 'begin' }];

/** So each transaction brings its own, in the same round trip. */
const BEGIN_POOLED: readonly Statement[] = [
  ...BEGIN,
  ...Object.entries(SESSION_TIMEOUTS).map(([name, ms]) => ({ sql: `set local ${name} = ${ms}` })),
];

export const beginStatements = (isPooled: boolean): readonly Statement[] => (isPooled ? BEGIN_POOLED : BEGIN);

/**
 * Statements without a transaction have no time-out in the server. So every process looks regularly for those that nobody
 * waits for any more, over the connection that listens.
 */
export const CANCEL_LATE = `select pg_cancel_backend(pid) from pg_stat_activity
  where application_name = '${APPLICATION_NAME}' and usename = current_user and datname = current_database()
    and state = 'active' and query_start < clock_timestamp() - interval '${STATEMENT_TIMEOUT_MS} milliseconds'`;

const SERVER = `select current_database() || ' since ' || extract(epoch from pg_postmaster_start_time()) as server`;

/** DATABASE_DIRECT_URL with another database would migrate that one, and nobody would get its signals. */
export async function refuseOtherServer(query: Query, direct: pg.Client): Promise<void> {
  const [pooled] = await query<{ server: string }>(SERVER);
  let server: string | undefined;
  try {
    await direct.connect();
    server = (await direct.query<{ server: string }>(SERVER)).rows[0]?.server;
  } catch (cause) {
    throw new DatabaseProblem(
      `The PostgreSQL of DATABASE_DIRECT_URL cannot be used: ${connectionProblem(cause, 'DATABASE_DIRECT_URL')}.`,
      { cause },
    );
  } finally {
    await direct.end().catch(() => {});
  }
  if (server !== pooled?.server) {
    throw new DatabaseProblem('DATABASE_DIRECT_URL and DATABASE_URL lead to different databases.');
  }
}
