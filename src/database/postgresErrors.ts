import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseUnavailable } from './database.ts';

export { connectionProblem } from './postgresProblems.ts';

/** Which of PostgreSQL's errors mean that the server is unavailable, and which mean "run it again". */

/** Classes and codes about the server's state, not about the statement. */
const UNAVAILABLE_SQLSTATE = /^(08|53|57P|58|F0|XX)|^(25006|55P03|57014)$/;
/** Serialization failure, deadlock detected. PostgreSQL has rolled the transaction back and asks to run it again. */
const CONFLICT_SQLSTATE = /^(40001|40P01)$/;

const CONFLICT_RETRIES_MAX = 3;
/** Random, so that two transactions that collided do not collide again. Doubles with each retry. */
const CONFLICT_DELAY_MAX_MS = 40;

/** Runs `work` again if PostgreSQL ended it in favour of another transaction. `work` must be safe to run twice. */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || retries === CONFLICT_RETRIES_MAX) throw error;
      await sleep(Math.random() * CONFLICT_DELAY_MAX_MS * 2 ** retries);
    }
  }
}

/** Runs `work` again while connecting takes too long, for this time. */
export async function retryConnecting<T>(work: () => Promise<T>, forMs: number): Promise<T> {
  for (const giveUpAt = performance.now() + forMs; ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectTimeout(error) || performance.now() >= giveUpAt) throw error;
    }
  }
}

/** The driver and its pool have several messages for it. */
const isConnectTimeout = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable &&
  error.cause instanceof Error &&
  /timeout/i.test(error.cause.message);

/**
 * The server is there, and says that it could not commit: a node of a cluster is away, or refused what was deferred. Nobody
 * knows whether it is written, so the caller must not run it again.
 */
export class CommitFailed extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super('the database could not commit', { cause });
  }
}

/** In the reply to a commit these are about a node, not about the server that replied. */
export const isCommitFailure = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^(08|XX)/.test(error.code ?? '');

const isConflict = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && CONFLICT_SQLSTATE.test(error.code ?? '');

/** The driver stopped waiting for a reply. */
export const isQueryTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout';

export function translatePostgresError(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string };
  const fromServer = error instanceof pg.DatabaseError;
  const away = UNAVAILABLE_SQLSTATE.test(code ?? '') || (!fromServer && isConnectionError(code, message));
  return away ? new DatabaseUnavailable('PostgreSQL is unavailable', { cause: error }) : error;
}

function isConnectionError(code: string | undefined, message: string): boolean {
  if (code && /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|ENOENT)/.test(code)) return true;
  return /timeout|terminated|not queryable|closed|Cannot use a pool/i.test(message);
}
