import pg from 'pg';
import { type BareTransaction, withEffects } from './afterCommit.ts';
import {
  type Database,
  DatabaseProblem,
  DatabaseUnavailable,
  type Param,
  type Snapshot,
} from './database.ts';
import { assertTimeLeft, DeadlinePassed, msLeft, requestingMerchant, withinDeadline } from './deadline.ts';
import { createHosts } from './hosts.ts';
import { COUNT_ANNOUNCED, lockName, lockOwnerName, lockUntilCommit, TRY_LOCK_UNTIL_COMMIT } from './locks.ts';
import {
  APPLICATION_NAME,
  beginStatements,
  CANCEL_LATE,
  LOCK_TIMEOUT_MS,
  refuseOtherServer,
  SESSION_TIMEOUTS,
} from './pooled.ts';
import { CommitFailed, connectionProblem, retryConflicts, retryConnecting } from './postgresErrors.ts';
import {
  COMMIT_MIN_MS,
  createStatements,
  QUERY_TIMEOUT_MS,
  type Query,
  queriesWith,
  type Statement,
} from './postgresStatements.ts';
import { engineProblem, isPostgres } from './probe.ts';
import { createShares } from './shares.ts';
import { createSignals } from './signals.ts';
import { isSpreadByMerchant } from './spread/detect.ts';
import { buildIndex, type OnWait, runTransaction } from './upgrade/postgres.ts';

interface PostgresOptions {
  poolSize: number;
  /** Must be off for a PgBouncer older than 1.21 in transaction mode. */
  preparedStatements: boolean;
  /**
   * If `url` is that of PgBouncer in transaction mode: the address of PostgreSQL itself. Everything that needs a session
   * of its own uses it: LISTEN, migrations and their lock, snapshots.
   */
  directUrl: string | undefined;
  /** A connection broke in the background; the pool has already removed it. */
  onConnectionLost?: (error: Error) => void;
  onWait?: OnWait | undefined;
  /** A command waits longer for a connection than a request may. */
  isCommand?: boolean;
}

/** The most for one connection. In a request, what is left of its time bounds it: see `deadline.ts`. */
const CONNECT_TIMEOUT_MS = 1500;
/** For commands and the start, which must not fail because PostgreSQL is busy for a moment. No request waits for it. */
const START_CONNECT_TIMEOUT_MS = 6000;
/** Outside a request: what the statements of a transaction leave of this goes to its commit, but see `COMMIT_MIN_MS`. */
const TRANSACTION_MAX_MS = 4500;
/** With more writes than this, the transaction waits for them: they would take longer than one statement may. */
const WRITES_AT_ONCE = 100;
/** The reader of a snapshot may pause this long between two pieces. A client that reads nothing is gone before. */
const SNAPSHOT_PAUSE_MAX_MS = 15_000;

const EXCLUSIVE_WAIT_MAX_MS = 60_000;
const SERVER_VERSION = `select current_setting('server_version_num')::bigint as number, version() as version`;
const SET_LOCK_TIMEOUT = `select set_config('lock_timeout', $1, true)`;
const LOCK_UNTIL_COMMIT = `select ${lockUntilCommit('$1')}`;

const noConnection = () =>
  msLeft() > 0
    ? new DatabaseUnavailable('no connection to PostgreSQL became free in time')
    : new DeadlinePassed();

/** After all promises that are settled now have had their turn. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

/** int8 as a number: the identity columns stay far below 2^53. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);

export async function openPostgres(url: string, options: PostgresOptions): Promise<Database> {
  const { onWait = () => {} } = options;
  const hosts = createHosts(url);
  const isPooled = options.directUrl !== undefined;
  const directHosts = options.directUrl === undefined ? hosts : createHosts(options.directUrl);
  const connectionOptions = {
    connectionTimeoutMillis: options.isCommand ? START_CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    types,
  };
  const directOptions = { ...connectionOptions, ...SESSION_TIMEOUTS, connectionString: directHosts.url };
  const pool = new pg.Pool({
    ...connectionOptions,
    connectionString: hosts.url,
    application_name: APPLICATION_NAME,
    // PgBouncer refuses settings of a session: see `beginStatements` and `CANCEL_LATE`.
    ...(isPooled ? {} : SESSION_TIMEOUTS),
    Client: hosts.Client,
    max: options.poolSize,
  });
  const shares = createShares(options.poolSize);
  // Without a listener, a broken connection would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  // The pool drops a client that was ended. Idle ones are taken out once, so that they are released.
  pool.on('release', (_error, client) => {
    if (hosts.isOutdated(client)) client.end().catch(() => {});
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
  const { failure, queryOn, sendAll } = createStatements({
    preparedStatements: options.preparedStatements,
    types,
    onUnavailable: () => hosts.invalidate(),
  });

  /** A connection of the pool, which `release` gives back. */
  const connect = async () => {
    const waitMs = msLeft();
    const share = await shares.take(
      requestingMerchant(),
      waitMs < Number.POSITIVE_INFINITY ? waitMs : connectionOptions.connectionTimeoutMillis,
      noConnection,
    );
    try {
      const client = await withinDeadline(pool.connect(), CONNECT_TIMEOUT_MS, (late) => late.release());
      const release = (isBroken: boolean) => {
        client.release(isBroken);
        share();
      };
      return { client, release };
    } catch (error) {
      share();
      throw failure(error);
    }
  };

  const signals = createSignals(directHosts, {
    types,
    checkSql: isPooled ? CANCEL_LATE : 'select 1',
    run: (sql, params) => pool.query(sql, [...params]),
  });

  const transact = async <T>(work: (tx: BareTransaction) => Promise<T>): Promise<T> => {
    const beganAt = performance.now();
    const { client, release } = await connect();
    /** The statements that are sent next: the writes that nobody waits for, and all others of one turn of the event loop. */
    let next: Statement[] = [];
    let turn: Promise<readonly pg.QueryResult[]> | undefined;
    let isBegun = false;
    const sendNext = async (timeoutMs: number) => {
      const begin = isBegun ? [] : beginStatements(isPooled);
      const statements = [...begin, ...next];
      next = [];
      isBegun = true;
      return (await sendAll(client, statements, timeoutMs)).slice(begin.length);
    };
    const send: Query = async <Row>(sql: string, params?: readonly Param[]) => {
      assertTimeLeft(COMMIT_MIN_MS);
      const index = next.push({ sql, params, returns: true }) - 1;
      turn ??= nextTick().then(() => {
        turn = undefined;
        return sendNext(msLeft() - COMMIT_MIN_MS);
      });
      return (await turn)[index]!.rows as Row[];
    };
    const commit = async () => {
      await turn;
      if (!isBegun && next.length === 0) return;
      const leftMs = Math.min(msLeft(), TRANSACTION_MAX_MS - (performance.now() - beganAt));
      const timeoutMs = Math.min(Math.max(leftMs, COMMIT_MIN_MS), QUERY_TIMEOUT_MS);
      // Writes that waited longer for a lock could be committed when the caller has heard that they are not.
      const lockMs = Math.max(Math.ceil(timeoutMs - COMMIT_MIN_MS), 1);
      if (next.length > 0 && lockMs < LOCK_TIMEOUT_MS)
        next.unshift({ sql: SET_LOCK_TIMEOUT, params: [String(lockMs)] });
      next.push({ sql: 'commit' });
      const results = await sendNext(timeoutMs);
      // PostgreSQL replies so, without an error, if a statement has failed before and somebody has ignored that.
      if (results.at(-1)!.command !== 'COMMIT')
        throw new Error('the transaction was rolled back: one of its statements failed');
    };
    const queries = queriesWith(send, isSpread);
    const tx: BareTransaction = {
      ...queries,
      async write(sql, params) {
        assertTimeLeft(COMMIT_MIN_MS);
        next.push({ sql, params });
        if (next.length > WRITES_AT_ONCE) await sendNext(msLeft() - COMMIT_MIN_MS);
      },
      async tryLock(name) {
        return (await queries.one<{ locked: boolean }>(TRY_LOCK_UNTIL_COMMIT, [name]))?.locked === true;
      },
      async lock(name) {
        await queries.run(LOCK_UNTIL_COMMIT, [name]);
      },
    };
    let broken = false;
    try {
      const value = await work(tx);
      await commit();
      return value;
    } catch (error) {
      // A connection that does not answer is closed without a rollback, which would make the caller wait again.
      const isUsable = error instanceof DeadlinePassed || error instanceof CommitFailed;
      broken = error instanceof DatabaseUnavailable && !isUsable;
      if (isBegun && !broken) {
        const rollback = { text: 'rollback', query_timeout: COMMIT_MIN_MS } as pg.QueryConfig;
        await client.query(rollback).catch(() => {
          broken = true;
        });
      }
      throw error;
    } finally {
      release(broken);
    }
  };

  const openSnapshot = async (): Promise<Snapshot> => {
    const client = new directHosts.Client({
      ...directOptions,
      application_name: 'deskbell snapshot',
      idle_in_transaction_session_timeout: SNAPSHOT_PAUSE_MAX_MS,
    });
    const queries = queriesWith((sql, params) => queryOn(client, { sql, params }), isSpread);
    const { engine, all, one, run } = queries;
    const close = () => {
      client.end().catch(() => {});
    };
    try {
      await withinDeadline(client.connect(), CONNECT_TIMEOUT_MS);
      await run('begin isolation level repeatable read, read only');
    } catch (error) {
      close();
      throw failure(error);
    }
    return { engine, isSpread, all, one, close };
  };

  const patientOptions = { ...directOptions, connectionTimeoutMillis: START_CONNECT_TIMEOUT_MS };
  const newMigrationClient = () =>
    new directHosts.Client({ ...patientOptions, application_name: 'deskbell migrations' });

  const queryPool: Query = async <Row>(sql: string, params?: readonly Param[]): Promise<Row[]> => {
    const { client, release } = await connect();
    let isUsable = false;
    try {
      const rows = await queryOn<Row>(client, { sql, params });
      isUsable = true;
      return rows;
    } catch (error) {
      isUsable = error instanceof DeadlinePassed;
      throw error;
    } finally {
      release(!isUsable);
    }
  };
  let isSpread: boolean;
  try {
    const [server] = await retryConnecting(
      () => queryPool<{ number: number; version: string }>(SERVER_VERSION),
      START_CONNECT_TIMEOUT_MS,
    );
    if (!server || server.number < 150_000) {
      throw new DatabaseProblem('The PostgreSQL of DATABASE_URL is older than 15. Use 15 or newer.');
    }
    if (isPooled) await refuseOtherServer(queryPool, new directHosts.Client(patientOptions));
    const problem = isPostgres(server.version) ? undefined : await engineProblem(newMigrationClient);
    if (problem) throw new DatabaseProblem(problem);
    isSpread = await isSpreadByMerchant(queryPool);
  } catch (error) {
    stopWatching();
    await pool.end();
    if (error instanceof DatabaseProblem) throw error;
    const cause = error instanceof DatabaseUnavailable ? error.cause : error;
    throw new DatabaseProblem(`The PostgreSQL of DATABASE_URL cannot be used: ${connectionProblem(cause)}.`, {
      cause,
    });
  }

  const queries = queriesWith((sql, params) => retryConflicts(() => queryPool(sql, params)), isSpread);
  const database: Database = {
    ...queries,
    transaction: withEffects((work) => retryConflicts(() => transact(work))),
    snapshot: openSnapshot,
    urgent: queriesWith(async <Row>(sql: string, params: readonly Param[] = []): Promise<Row[]> => {
      const result = signals.query(sql, params);
      if (!result) return queryPool<Row>(sql, params);
      try {
        return (await result).rows as Row[];
      } catch (error) {
        throw failure(error);
      }
    }, isSpread),
    async script(sql, indexes = []) {
      for (const index of indexes) await retryConflicts(() => buildIndex(newMigrationClient, index, onWait));
      await retryConflicts(() => runTransaction(newMigrationClient, sql, onWait));
    },
    engineProblem: () => engineProblem(newMigrationClient),
    // Old row versions go with the next vacuum.
    scrub: async () => true,
    canWrite: async () => true,

    async exclusively(name, work, waitMs = EXCLUSIVE_WAIT_MAX_MS) {
      const client = new directHosts.Client({
        connectionString: directHosts.url,
        connectionTimeoutMillis: START_CONNECT_TIMEOUT_MS,
        application_name: lockOwnerName(name),
      });
      try {
        await client.connect();
        await lockName(client, name, waitMs, onWait);
        return await work();
      } finally {
        // Ending the connection releases the lock, no matter what happened on it.
        await client.end();
      }
    },

    signal: (topic) => signals.signal(topic),
    listen: (topic, onSignal) => signals.listen(topic, onSignal),
    announce: (name) => signals.announce(name),
    async countAnnounced(name) {
      return (await database.one<{ announced: number }>(COUNT_ANNOUNCED, [name]))!.announced;
    },
    connections: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: shares.waiting,
      max: options.poolSize,
    }),

    async close() {
      stopWatching();
      await signals.close();
      await pool.end();
    },
  };

  return database;
}
