import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { backup as copyPages, DatabaseSync } from 'node:sqlite';
import { DatabaseProblem } from '../database.ts';
import { migrate } from '../migrate.ts';
import { openSqlite } from '../sqlite.ts';
import { sqliteProblem } from '../sqliteErrors.ts';
import { databaseFile, isOwnFile, lockFolder } from '../sqliteFolder.ts';
import {
  type BackupInfo,
  type StructureCheck,
  structureProblem,
  syncToDisk,
  writeInfo,
} from './backupFile.ts';
import { beginCopy, copyRows, endCopy, markIncomplete, type OnProgress, type Sums, sumsOf } from './copy.ts';
import { knownPart } from './knownPart.ts';
import { openSnapshot, type Place, schemaOf, snapshotConnection } from './place.ts';
import { sqliteStore } from './sqliteStore.ts';

interface BackupOptions {
  /** The fingerprints of the secret keys. */
  keys: readonly string[];
  /** Of Deskbell. */
  version: string;
  now: () => Date;
  onProgress: OnProgress;
}

interface MadeBackup extends BackupInfo {
  bytes: number;
  /** What only a newer version knows. */
  leftOut: string[];
}

/** The folder in which the file is made. It is renamed when it is complete. */
const partialOf = (file: string) => `${file}.partial`;

/** Between two steps the rest of the program has its turn; 5,000 pages are 20 MB. */
const PAGES_AT_ONCE = 5000;

/**
 * Writes a backup while servers and workers run: everything is as it was at one moment, and nobody waits for it. If it is
 * interrupted, there is no file, and the next attempt begins again.
 */
export async function backUp(
  place: Place,
  file: string,
  { keys, version, now, onProgress }: BackupOptions,
): Promise<MadeBackup> {
  if (existsSync(file)) throw new DatabaseProblem(`${file} exists already. Choose another name.`);
  const folder = partialOf(file);
  makePartial(folder, file);
  const release = lockPartial(folder, file);
  try {
    const made = databaseFile(folder);
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(`${made}${ending}`, { force: true });
    const madeAt = now().toISOString();
    const { tables, leftOut } = await (place.databaseUrl === undefined
      ? copyFile(place.dataDir, made, onProgress)
      : copyFromPostgres(place, folder, onProgress, now));
    const engine = place.databaseUrl === undefined ? 'sqlite' : 'postgres';
    const info: BackupInfo = { id: randomUUID(), made_at: madeAt, version, engine, keys, tables };
    // The indexes of a copy from PostgreSQL were just built from its rows.
    complete(made, info, engine === 'sqlite' ? 'integrity_check' : 'quick_check');
    syncToDisk(made);
    if (existsSync(file)) throw new DatabaseProblem(`${file} exists already. Choose another name.`);
    renameSync(made, file);
    syncToDisk(dirname(resolve(file)));
    return { ...info, bytes: statSync(file).size, leftOut };
  } finally {
    release();
    removePartial(folder);
  }
}

/** Uses what an interrupted backup has left, and nothing of anybody else: it is overwritten, and removed at the end. */
function makePartial(folder: string, file: string): void {
  try {
    mkdirSync(dirname(folder), { recursive: true });
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new DatabaseProblem(`${file} cannot be written: ${sqliteProblem(cause)}.`, { cause });
    const stats = lstatSync(folder);
    const isOurs = stats.isDirectory() && stats.uid === (process.getuid?.() ?? stats.uid);
    if (!isOurs || readdirSync(folder).some((name) => !isOwnFile(name)))
      throw new DatabaseProblem(
        `${folder} is not from an interrupted backup. Remove it, or choose another name for the backup.`,
      );
  }
}

function removePartial(folder: string): void {
  for (const name of readdirSync(folder)) if (isOwnFile(name)) rmSync(join(folder, name), { force: true });
  rmdirSync(folder);
}

function lockPartial(folder: string, file: string): () => void {
  try {
    return lockFolder(folder);
  } catch (cause) {
    throw new DatabaseProblem(`Another backup is being written to ${file}.`, { cause });
  }
}

interface Copied {
  tables: Sums;
  leftOut: string[];
}

/** Page by page. Without the open transaction, every commit of another process would make the copy begin again. */
async function copyFile(dataDir: string, made: string, onProgress: OnProgress): Promise<Copied> {
  const source = snapshotConnection(dataDir);
  try {
    const store = sqliteStore(source);
    await schemaOf(store);
    closeSync(openSync(made, 'a', 0o600));
    await copyPages(source, made, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) =>
        onProgress({ doing: 'copying', what: 'pages', done: totalPages - remainingPages, of: totalPages }),
    });
    const copy = sqliteStore(new DatabaseSync(made));
    try {
      const sums = await sumsOf(copy, onProgress);
      for (const table of await store.tables()) {
        if ((await store.estimate(table)) !== sums[table.name]?.rows)
          throw new DatabaseProblem(`The copy differs from the database in ${table.name}.`);
      }
      return { tables: sums, leftOut: [] };
    } finally {
      await copy.close();
    }
  } finally {
    source.close();
  }
}

async function copyFromPostgres(
  place: Place,
  folder: string,
  onProgress: OnProgress,
  now: () => Date,
): Promise<Copied> {
  const source = await openSnapshot(place);
  try {
    const schema = await schemaOf(source);
    if (schema === undefined) throw new DatabaseProblem('The database has no tables.');
    // First, so that nobody takes half of it for a backup.
    const marked = sqliteStore(new DatabaseSync(databaseFile(folder)));
    await markIncomplete(marked).finally(() => marked.close());
    const database = openSqlite(folder, { lock: false });
    await migrate(database, now, undefined, schema.version).finally(() => database.close());
    const connection = new DatabaseSync(databaseFile(folder));
    // A crash means that we begin again, so nothing has to be safe before the end.
    connection.exec('pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = off');
    const target = sqliteStore(connection);
    try {
      await beginCopy(target, 'postgres');
      const { store, leftOut } = await knownPart(source, await target.tables(), schema.version);
      const tables = await copyRows(store, target, onProgress);
      await endCopy(target);
      return { tables, leftOut };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** One file that needs no other, with what it contains. Opens it as a reader will. */
function complete(made: string, info: BackupInfo, check: StructureCheck): void {
  const connection = new DatabaseSync(made);
  try {
    connection.exec('pragma journal_mode = delete; pragma synchronous = full; pragma cache_size = -100000');
    writeInfo(connection, info);
    const problem = structureProblem(connection, check);
    if (problem !== undefined) throw new DatabaseProblem(`The backup is damaged: ${problem}. Run "doctor".`);
  } finally {
    connection.close();
  }
  chmodSync(made, 0o600);
}
