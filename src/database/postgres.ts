import pg from 'pg';
import { asOneStatement, type Step } from './chain.ts';
import {
  type Database,
  DatabaseProblem,
  DatabaseUnavailable,
  type Param,
  type Queries,
  type Transaction,
} from './database.ts';
import { createHosts } from './hosts.ts';
import { createSignals } from './signals.ts';

interface PostgresOptions {
  poolSize: number;
  /** Off behind a PgBouncer older than 1.21 in transaction mode. */
  preparedStatements: boolean;
  /** A connection broke in the background; the pool has already let go of it. */
  onConnectionLost?: (error: Error) => void;
}

// Together below five seconds: no request waits longer for a database that is away or frozen.
const CONNECT_TIMEOUT_MS = 1500;
const QUERY_TIMEOUT_MS = 3000;
/**
 * Not before we have stopped listening: a server whose commit waits for its standby ends that wait with the
 * statement's time, and then reports a commit that is on no other machine.
 */
const STATEMENT_TIMEOUT_MS = QUERY_TIMEOUT_MS + 1000;
/** What a transaction may take in all, and what is left for its commit in any case: locks may have cost the rest. */
const TRANSACTION_MAX_MS = 4500;
const COMMIT_MIN_MS = 500;
/** None: a migration takes its time. (To the driver 0 means the pool's own; this is the longest timer.) */
const SCRIPT_TIMEOUT_MS = 2 ** 31 - 1;

/** int8 as a number: the identity columns stay far below 2^53. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);

type Connection = Pick<pg.Pool | pg.PoolClient, 'query'>;

export async function openPostgres(url: string, options: PostgresOptions): Promise<Database> {
  const hosts = createHosts(url);
  const pool = new pg.Pool({
    Client: hosts.Client,
    connectionString: hosts.url,
    max: options.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'deskbell',
    types,
  });
  // Without listeners a connection that breaks, idle or in a transaction, would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  pool.on('connect', (client) => client.on('error', () => {}));
  // The pool keeps no client that was ended. Those at rest are called up to be released.
  pool.on('release', (_error, client) => {
    if (hosts.isLeft(client)) client.end().catch(() => {});
  });
  hosts.onMoved(() => {
    for (let idle = pool.idleCount; idle > 0; idle -= 1) {
      pool.connect().then(
        (client) => client.release(),
        () => {},
      );
    }
  });

  const stopWatching = hosts.watch(pool);

  const failure = (error: unknown): unknown => {
    const translated = translate(error);
    if (translated instanceof DatabaseUnavailable) hosts.doubt();
    return translated;
  };

  const names = new Map<string, string>();
  const nameOf = (sql: string): string => {
    let name = names.get(sql);
    if (!name) {
      name = `deskbell_${names.size}`;
      names.set(sql, name);
    }
    return name;
  };

  const queriesOn = (connection: Connection): Queries => {
    const query = async <Row>(sql: string, params: readonly Param[] = []): Promise<Row[]> => {
      try {
        const statement = { text: sql, values: [...params] };
        const result = await connection.query(
          options.preparedStatements ? { ...statement, name: nameOf(sql) } : statement,
        );
        return result.rows as Row[];
      } catch (error) {
        throw failure(error);
      }
    };
    return {
      engine: 'postgres',
      all: query,
      one: async <Row>(sql: string, params?: readonly Param[]) => (await query<Row>(sql, params))[0],
      run: query,
      chain: async <Row>(steps: readonly Step[]) => {
        const { sql, params } = asOneStatement(steps);
        return (await query<Row>(sql, params))[0];
      },
    };
  };

  const connect = async (): Promise<pg.PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw failure(error);
    }
  };

  const commit = async (client: pg.PoolClient, msLeft: number): Promise<void> => {
    try {
      const query_timeout = Math.min(Math.max(msLeft, COMMIT_MIN_MS), QUERY_TIMEOUT_MS);
      await client.query({ text: 'commit', query_timeout } as pg.QueryConfig);
    } catch (error) {
      throw failure(error);
    }
  };

  const signals = createSignals(hosts, (topic) =>
    pool.query('select pg_notify($1, $2)', [topic, process.pid]),
  );

  const database: Database = {
    ...queriesOn(pool),

    async transaction(work) {
      const beganAt = performance.now();
      const client = await connect();
      const queries = queriesOn(client);
      const tx: Transaction = {
        ...queries,
        async tryLock(name) {
          const sql = 'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked';
          return (await queries.one<{ locked: boolean }>(sql, [name]))?.locked === true;
        },
        async lock(name) {
          await queries.run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
        },
      };
      let broken = false;
      try {
        await queries.run('begin');
        const value = await work(tx);
        await commit(client, TRANSACTION_MAX_MS - (performance.now() - beganAt));
        return value;
      } catch (error) {
        // One that does not answer is let go at once: its rollback would cost the caller a second wait.
        broken = error instanceof DatabaseUnavailable;
        if (!broken) {
          await queries.run('rollback').catch(() => {
            broken = true;
          });
        }
        throw error;
      } finally {
        client.release(broken);
      }
    },

    async script(sql) {
      const client = await connect();
      try {
        const text = `set statement_timeout = 0; ${sql}`;
        await client.query({ text, query_timeout: SCRIPT_TIMEOUT_MS } as pg.QueryConfig);
      } finally {
        // The connection has another time-out now, and after an error perhaps an open transaction.
        client.release(true);
      }
    },

    async exclusively(name, work) {
      const client = new hosts.Client({
        connectionString: hosts.url,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
        return await work();
      } finally {
        // Ending the connection gives the lock back, whatever happened on it.
        await client.end();
      }
    },

    signal: (topic) => signals.signal(topic),
    listen: (topic, onSignal) => signals.listen(topic, onSignal),

    async close() {
      stopWatching();
      await signals.close();
      await pool.end();
    },
  };

  try {
    const version = await database.one<{ server_version_num: string }>('show server_version_num');
    if (Number(version?.server_version_num) < 150_000) {
      throw new DatabaseProblem('DATABASE_URL leads to a PostgreSQL older than 15. Use 15 or newer.');
    }
  } catch (error) {
    stopWatching();
    await pool.end();
    if (error instanceof DatabaseProblem) throw error;
    const cause = error instanceof DatabaseUnavailable ? error.cause : error;
    throw new DatabaseProblem(`The PostgreSQL of DATABASE_URL cannot be used: ${reason(cause)}.`, { cause });
  }
  return database;
}

/** Classes and codes that speak of the server's state, not of the statement. */
const UNAVAILABLE_SQLSTATE = /^(08|53|57P|58|F0|XX)|^(25006|55P03|57014|40001|40P01)$/;

function translate(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string };
  const fromServer = error instanceof pg.DatabaseError;
  const away = UNAVAILABLE_SQLSTATE.test(code ?? '') || (!fromServer && isConnectionError(code, message));
  return away ? new DatabaseUnavailable('PostgreSQL is away', { cause: error }) : error;
}

function isConnectionError(code: string | undefined, message: string): boolean {
  if (code && /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|ENOENT)/.test(code)) return true;
  return /timeout|terminated|not queryable|closed|Cannot use a pool/i.test(message);
}

/** Never the address itself: it may carry a password. */
function reason(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  if (error instanceof AggregateError || code === 'ECONNREFUSED') return 'nothing answers at its address';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its host name is unknown';
  return message.replace(/\.$/, '');
}
