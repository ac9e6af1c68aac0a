import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Database, DatabaseProblem } from '../database.ts';
import { migrate } from '../migrate.ts';
import { openSqlite } from '../sqlite.ts';
import {
  BUSY_TIMEOUT_MS,
  createPrivate,
  databaseFile,
  lockFolder,
  restoringFolder,
} from '../sqliteFolder.ts';
import { type Backup, type BackupInfo, checkBackup, openBackup, syncToDisk } from './backupFile.ts';
import {
  beginCopy,
  copyRows,
  endCopy,
  isCopied,
  isIncomplete,
  markIncomplete,
  type OnProgress,
} from './copy.ts';
import { completeSchema, isEmpty, type LockedStore, openLocked, type Place, schemaOf } from './place.ts';
import { sqliteStore } from './sqliteStore.ts';
import { BACKUP_INFO, type Store } from './store.ts';

interface RestoreOptions {
  now: () => Date;
  onProgress: OnProgress;
  /** What must be changed before the database is used. It may run again. */
  prepare: (database: Database, info: BackupInfo | undefined) => Promise<void>;
}

/**
 * Ids that the lost database may have given out after the backup was made. Somebody outside may still use them, so they
 * are not given to anything else.
 */
const IDS_SKIPPED = 1_000_000;

const NOT_EMPTY = (place: Place) =>
  `The database ${place.databaseUrl === undefined ? `in ${place.dataDir} ` : ''}is not empty. Restore into an empty one.`;

/** Restores into an empty database. An interrupted restore is recognised, and can be run again. */
export async function restore(
  place: Place,
  file: string,
  options: RestoreOptions,
): Promise<BackupInfo | undefined> {
  const backup = openBackup(file);
  try {
    if ((await schemaOf(backup.store)) === undefined)
      throw new DatabaseProblem(`${file} has no tables of Deskbell.`);
    if (place.databaseUrl === undefined) await restoreFile(place.dataDir, file, backup, options);
    else await restoreRows(place, file, backup, options);
    return backup.info;
  } finally {
    await backup.store.close();
  }
}

/** Everything happens in a folder beside the database, until that is complete. */
async function restoreFile(
  dataDir: string,
  file: string,
  { info }: Backup,
  { now, onProgress, prepare }: RestoreOptions,
): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  createPrivate(dataDir);
  const release = lockFolder(dataDir);
  try {
    await requireEmptyFolder(dataDir);
    const folder = restoringFolder(dataDir);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    const copy = databaseFile(folder);
    await copyFile(file, copy, onProgress);
    const restored = openBackup(copy);
    try {
      await checkBackup(file, restored, 'integrity_check', onProgress);
    } finally {
      await restored.store.close();
    }
    await skipIds(copy);
    const database = openSqlite(folder, { lock: false });
    try {
      await migrate(database, now);
      await prepare(database, info);
    } finally {
      await database.close();
    }
    // SQLite closes a database without an error even if it could not write its log into it.
    if (existsSync(`${copy}-wal`))
      throw new DatabaseProblem('The restored database could not be written completely. Is the disk full?');
    // Its log would be replayed into the restored database.
    for (const ending of ['-wal', '-shm', '-journal', ''])
      rmSync(`${databaseFile(dataDir)}${ending}`, { force: true });
    syncToDisk(copy);
    renameSync(copy, databaseFile(dataDir));
    rmSync(folder, { recursive: true, force: true });
    syncToDisk(dataDir);
  } catch (error) {
    // Nothing has replaced the target yet: it is as empty as before.
    if (error instanceof DatabaseProblem && existsSync(databaseFile(dataDir)))
      rmSync(restoringFolder(dataDir), { recursive: true, force: true });
    throw error;
  } finally {
    release();
  }
}

/** A new folder has an empty file. Other files next to it are not read: they may be the log of another database. */
async function requireEmptyFolder(dataDir: string): Promise<void> {
  const file = databaseFile(dataDir);
  if (statSync(file).size === 0) return;
  const store = sqliteStore(new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS }));
  try {
    if (!(await isEmpty(store))) throw new DatabaseProblem(NOT_EMPTY({ databaseUrl: undefined, dataDir }));
  } finally {
    await store.close();
  }
}

async function copyFile(from: string, to: string, onProgress: OnProgress): Promise<void> {
  const of = statSync(from).size;
  let done = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      done += chunk.length;
      onProgress({ doing: 'copying', what: 'bytes', done, of });
      next(null, chunk);
    },
  });
  const piece = { highWaterMark: 1 << 20 };
  await pipeline(createReadStream(from, piece), counted, createWriteStream(to, { mode: 0o600, ...piece }));
}

async function skipIds(file: string): Promise<void> {
  const store = sqliteStore(new DatabaseSync(file));
  try {
    await store.query(`drop table if exists ${BACKUP_INFO}`);
    await store.setCounters(later(await store.counters()));
  } finally {
    await store.close();
  }
}

const later = (counters: Record<string, number>) =>
  Object.fromEntries(Object.entries(counters).map(([name, last]) => [name, last + IDS_SKIPPED]));

async function restoreRows(
  place: Place,
  file: string,
  backup: Backup,
  { now, onProgress, prepare }: RestoreOptions,
): Promise<void> {
  const version = await completeSchema(backup.store);
  const target = await openLocked(place);
  try {
    const goesOn = await incomplete(target);
    if (!goesOn && !(await isEmpty(target))) throw new DatabaseProblem(NOT_EMPTY(place));
    await markIncomplete(target);
    try {
      // A server connects first and then looks for the mark, so one of us sees the other.
      await target.requireUnused();
      // Its indexes are not used, except to read: a wrong one shows in the checksums.
      await checkBackup(file, backup, 'quick_check', onProgress);
    } catch (error) {
      if (!goesOn) await endCopy(target);
      throw error;
    }
    await beginCopy(target, `backup ${backup.info?.id ?? file}`);
    if (!(await isCopied(target))) await createTables(target, version, now);
    await copyRows(backup.store, target, onProgress, backup.info?.tables);
    await target.setCounters(later(await backup.store.counters()));
    await withDatabase(target, async (database) => {
      await migrate(database, now);
      await prepare(database, backup.info);
    });
    await endCopy(target);
  } finally {
    await target.close();
  }
}

/** The tables as they are in the source. Later migrations change them when the rows are there. */
export async function createTables(
  target: LockedStore,
  version: number | undefined,
  now: () => Date,
): Promise<void> {
  await withDatabase(target, (database) => migrate(database, now, undefined, version));
  if ((await completeSchema(target)) !== version) {
    throw new DatabaseProblem('The target has tables of another version. Use a database without tables.');
  }
}

export const incomplete = (target: Store): Promise<boolean> =>
  isIncomplete({ engine: target.engine, one: async (sql) => (await target.query(sql))[0] });

export async function withDatabase<T>(
  target: { openDatabase(): Promise<Database> },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await target.openDatabase();
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
