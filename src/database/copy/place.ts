import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROGRAM } from '../../installation.ts';
import { type Database, DatabaseProblem } from '../database.ts';
import { tryLockName } from '../locks.ts';
import { migrationStatus } from '../migrate.ts';
import { openPostgres } from '../postgres.ts';
import { connectionProblem } from '../postgresErrors.ts';
import { isSpreadByMerchant } from '../spread/detect.ts';
import { openSqlite } from '../sqlite.ts';
import { sqliteProblem } from '../sqliteErrors.ts';
import { BUSY_TIMEOUT_MS, createPrivate, databaseFile, lockFolder } from '../sqliteFolder.ts';
import { connectPostgres, othersConnected, postgresStore } from './postgresStore.ts';
import { sqliteStore } from './sqliteStore.ts';
import type { Store, Value } from './store.ts';

/** Where a database is: as in the settings. */
export interface Place {
  /** Absent: SQLite in `dataDir`. */
  databaseUrl: string | undefined;
  dataDir: string;
}

/** Locks and settings of a session need PostgreSQL itself, not PgBouncer. */
export const placeOf = (config: Place & { databaseDirectUrl: string | undefined }): Place => ({
  databaseUrl: config.databaseDirectUrl ?? config.databaseUrl,
  dataDir: config.dataDir,
});

/** A store whose other users are kept out until it is closed. */
export interface LockedStore extends Store {
  /** Refuses a database that somebody uses. With PostgreSQL, somebody may have come after it was locked. */
  requireUnused(): Promise<void>;
  /** For migrations and the like, which use the interface of the program. Close it before the store. */
  openDatabase(): Promise<Database>;
}

/** With one connection, and without the check that the copy is complete. */
function openTarget({ databaseUrl, dataDir }: Place): Promise<Database> {
  return databaseUrl === undefined
    ? Promise.resolve(openSqlite(dataDir, { lock: false }))
    : openPostgres(databaseUrl, {
        poolSize: 2,
        preparedStatements: false,
        directUrl: undefined,
        isCommand: true,
      });
}

interface SchemaVersion {
  /** Of its newest migration that this program knows. */
  version: number;
  /** Migrations of a newer program. This one can use the database nevertheless. */
  newer: string[];
}

/** Undefined without tables. Refuses a database that this program cannot use. */
export async function schemaOf(store: Store): Promise<SchemaVersion | undefined> {
  const status = await migrationStatus({
    engine: store.engine,
    all: (sql, params) => store.query(sql, params as readonly Value[]),
    one: async <T>(sql: string) => (await store.query<T>(sql))[0],
  });
  const applied = status.filter(({ applied_at }) => applied_at !== null);
  const last = applied.findLast(({ newer }) => !newer);
  const newer = applied.filter((migration) => migration.newer);
  return last && { version: last.version, newer: newer.map(({ version, name }) => `${version}_${name}`) };
}

/** Like `schemaOf`, for a copy that must have all of it. */
export async function completeSchema(store: Store): Promise<number | undefined> {
  const schema = await schemaOf(store);
  if (schema && schema.newer.length > 0)
    throw new DatabaseProblem(
      `It has tables of a newer version (migration ${schema.newer.at(-1)}). Use that version of Deskbell for this.`,
    );
  return schema?.version;
}

/** What a first start writes. Everything else belongs to somebody. */
const WRITTEN_AT_START: ReadonlySet<string> = new Set([
  ...['answer_schemas', 'signing_keys', 'vapid_keys', 'audit_events', 'revocations', 'background_changes'],
  'job_leases',
]);

/** Whether it has no tables, or only what a first start has written. */
export async function isEmpty(store: Store): Promise<boolean> {
  for (const { name } of await store.tables()) {
    if (WRITTEN_AT_START.has(name)) continue;
    if ((await store.query(`select 1 from "${name}" limit 1`)).length > 0) return false;
  }
  return true;
}

/** For writing. Refuses a database that a server, a worker or a command uses. */
export async function openLocked(place: Place): Promise<LockedStore> {
  return place.databaseUrl === undefined ? lockSqlite(place) : lockPostgres(place, place.databaseUrl);
}

async function lockSqlite(place: Place): Promise<LockedStore> {
  const { dataDir } = place;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  createPrivate(dataDir);
  const release = lockFolder(dataDir);
  try {
    const file = databaseFile(dataDir);
    // The log of a database that is gone would be replayed into the new one.
    if (statSync(file).size === 0)
      for (const ending of ['-wal', '-shm']) rmSync(`${file}${ending}`, { force: true });
    const connection = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    // The rows come in the order of their tables, not of their foreign keys. NORMAL: after a power cut the last pieces are
    // copied again.
    connection.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = off');
    const store = sqliteStore(connection);
    return {
      ...store,
      // The folder is locked.
      async requireUnused() {},
      openDatabase: () => openTarget(place),
      async close() {
        await store.close();
        release();
      },
    };
  } catch (cause) {
    release();
    throw new DatabaseProblem(`The database in ${dataDir} cannot be opened: ${sqliteProblem(cause)}.`, {
      cause,
    });
  }
}

const IN_USE = (count: number) =>
  `The database is in use: ${count} ${count === 1 ? 'connection' : 'connections'} of Deskbell. Stop all servers, workers and commands. (PgBouncer keeps connections open for some minutes.)`;

const IS_SPREAD = `The tables of this database are spread over a cluster. Use a new database, and run "${PROGRAM} db distribute" on it afterwards.`;

async function lockPostgres(place: Place, url: string): Promise<LockedStore> {
  const client = await connect(url);
  try {
    if (!(await tryLockName(client, 'deskbell copy')))
      throw new DatabaseProblem('Another restore or move uses this database. Wait until it has finished.');
    await requireUnused(client);
    if (await isSpreadByMerchant(async <Row>(sql: string) => (await client.query(sql)).rows as Row[]))
      throw new DatabaseProblem(IS_SPREAD);
    // A piece that is lost in a crash of the server is copied again.
    await client.query('set synchronous_commit = off');
    // For indexes and foreign keys over all rows.
    await client.query(`set maintenance_work_mem = '256MB'`);
    await client.query(`set work_mem = '64MB'`);
  } catch (error) {
    await client.end();
    throw error;
  }
  return {
    ...postgresStore(client),
    requireUnused: () => requireUnused(client),
    openDatabase: () => openTarget(place),
  };
}

/** PostgreSQL notices a moment later that a process has ended: a command just before this one must not count. */
const ENDING_MAX_MS = 2000;

async function requireUnused(client: Parameters<typeof othersConnected>[0]): Promise<void> {
  for (const giveUpAt = performance.now() + ENDING_MAX_MS; ; await sleep(50)) {
    const others = await othersConnected(client);
    if (others === 0) return;
    if (performance.now() >= giveUpAt) throw new DatabaseProblem(IN_USE(others));
  }
}

/** For reading all of it, as it is at one moment, while others use it. */
export async function openSnapshot(place: Place): Promise<Store> {
  if (place.databaseUrl === undefined) return sqliteStore(snapshotConnection(place.dataDir));
  const client = await connect(place.databaseUrl);
  await client.query('begin isolation level repeatable read, read only');
  await client.query(`set local cursor_tuple_fraction = 1`);
  return postgresStore(client, { inTransaction: true });
}

/** The first read fixes what it sees. Writers go on meanwhile. */
export function snapshotConnection(dataDir: string): DatabaseSync {
  const connection = new DatabaseSync(databaseFile(dataDir), { timeout: BUSY_TIMEOUT_MS });
  connection.exec('begin');
  connection.prepare('select count(*) from sqlite_schema').get();
  return connection;
}

/** For reading all of it while nobody writes. Reads stay possible. Nothing in it is changed. */
export async function openFrozen(place: Place): Promise<Store> {
  if (place.databaseUrl === undefined) {
    const { dataDir } = place;
    if (!existsSync(databaseFile(dataDir)) || statSync(databaseFile(dataDir)).size === 0)
      throw new DatabaseProblem(`There is no database in ${dataDir}.`);
    const release = lockFolder(dataDir);
    const connection = new DatabaseSync(databaseFile(dataDir), { timeout: BUSY_TIMEOUT_MS });
    const store = sqliteStore(connection);
    // Commands do not need the lock of the folder to write.
    connection.exec('begin immediate');
    return {
      ...store,
      async close() {
        await store.close();
        release();
      },
    };
  }
  const client = await connect(place.databaseUrl);
  try {
    await requireUnused(client);
    const names = (await postgresStore(client).tables()).map(({ name }) => `"${name}"`);
    await client.query('begin isolation level repeatable read');
    await client.query(`set local lock_timeout = '3s'`);
    // Before the first read. A server that starts now can read but not write, and stops.
    if (names.length > 0) await client.query(`lock table ${names.join(', ')} in share mode`);
    await client.query(`set local cursor_tuple_fraction = 1`);
  } catch (error) {
    await client.end();
    if ((error as { code?: string }).code === '55P03')
      throw new DatabaseProblem('Something writes to the database. Stop it, and try again.', {
        cause: error,
      });
    throw error;
  }
  return postgresStore(client, { inTransaction: true });
}

async function connect(url: string) {
  try {
    return await connectPostgres(url);
  } catch (cause) {
    throw new DatabaseProblem(`The PostgreSQL database cannot be used: ${connectionProblem(cause)}.`, {
      cause,
    });
  }
}
