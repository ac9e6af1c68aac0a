import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseProblem } from './database.ts';
import { resultCode, SQLITE_BUSY, sqliteProblem } from './sqliteErrors.ts';

/** The data folder of the embedded database: its file and its locks. */

export const BUSY_TIMEOUT_MS = 5000;
const EXCLUSIVE_WAIT_MAX_MS = 30_000;
const EXCLUSIVE_RETRY_MS = 20;

export const databaseFile = (dataDir: string) => join(dataDir, 'deskbell.db');

/** Here a restore prepares the database. If it exists, the restore was interrupted. */
export const restoringFolder = (dataDir: string) => join(dataDir, 'restoring');

/** The others get their mode from the database: SQLite creates them when it needs them. */
const CREATED_FILES = ['deskbell.db', 'server.lock', 'turn.lock'];
/** Everything that Deskbell writes here. The folder may also hold files of other programs, such as backups. */
const OWN_FILES = [
  ...CREATED_FILES,
  'deskbell.db-wal',
  'deskbell.db-shm',
  'deskbell.db-journal',
  'secret.key',
  'turn.owner',
];

export const isOwnFile = (name: string): boolean => OWN_FILES.includes(name);

/** Deskbell's files in the data folder that other users of this machine can read or write. */
export function filesOpenToOthers(dataDir: string): string[] {
  return OWN_FILES.map((name) => join(dataDir, name)).filter((file) => {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    return stats?.isFile() && (stats.mode & 0o077) !== 0;
  });
}

/** Whatever the mode of the folder, only the owner can read Deskbell's files. */
export function createPrivate(dataDir: string): void {
  for (const name of CREATED_FILES) {
    const file = join(dataDir, name);
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  }
}

/** For files that an earlier version or a copy has created with another mode. */
function makePrivate(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch (cause) {
    // A command that ends at this moment removes files of SQLite.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new DatabaseProblem(
      `Other users of this machine can read ${file}, and its mode cannot be changed: ${sqliteProblem(cause)}. ` +
        'Give the file to the user who runs Deskbell, with mode 600.',
      { cause },
    );
  }
}

export function openFolder(dataDir: string, lock: boolean): [DatabaseSync, release: () => void] {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be created: ${sqliteProblem(cause)}.`, {
      cause,
    });
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK);
    createPrivate(dataDir);
  } catch (cause) {
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be written: ${sqliteProblem(cause)}.`, {
      cause,
    });
  }
  if (existsSync(restoringFolder(dataDir))) throw incompleteRestore(dataDir);
  if (lock) for (const file of filesOpenToOthers(dataDir)) makePrivate(file);
  const release = lock ? lockFolder(dataDir) : () => {};
  try {
    const writer = new DatabaseSync(databaseFile(dataDir), { timeout: BUSY_TIMEOUT_MS });
    // FULL: a commit is on the disk before it is acknowledged, so a power cut does not lose it.
    writer.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
    // What is deleted is overwritten, so that nobody can read it from the file.
    writer.exec('pragma secure_delete = on');
    // From here on we wait for locks without blocking everything else: see `beginWriting`.
    writer.exec('pragma busy_timeout = 0');
    return [writer, release];
  } catch (cause) {
    release();
    throw new DatabaseProblem(`The database in ${dataDir} cannot be opened: ${sqliteProblem(cause)}.`, {
      cause,
    });
  }
}

const incompleteRestore = (dataDir: string) =>
  new DatabaseProblem(
    `A restore into ${dataDir} was interrupted. Run it again. To start without it, delete ${restoringFolder(dataDir)}.`,
  );

/** A lock of the operating system, which is released when the process ends, even if it is killed. */
export function lockFolder(dataDir: string): () => void {
  try {
    const holder = new DatabaseSync(join(dataDir, 'server.lock'));
    holder.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive');
    return () => holder.close();
  } catch (cause) {
    throw new DatabaseProblem(
      resultCode(cause) === SQLITE_BUSY
        ? `The data folder ${dataDir} is in use by another Deskbell. Stop it, or set DATA_DIR to another folder.`
        : `The data folder ${dataDir} cannot be written: ${sqliteProblem(cause)}.`,
      { cause },
    );
  }
}

/** Only one server uses a folder, but commands may be running, and a second server may be starting. */
export async function lockExclusively(
  dataDir: string,
  name: string,
  waitMs = EXCLUSIVE_WAIT_MAX_MS,
): Promise<() => void> {
  const holder = new DatabaseSync(join(dataDir, 'turn.lock'));
  const ownerFile = join(dataDir, 'turn.owner');
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += EXCLUSIVE_RETRY_MS) {
    try {
      holder.exec('pragma journal_mode = memory; begin exclusive');
      writeFileSync(ownerFile, `process ${process.pid} (${name})`, { mode: 0o600 });
      return () => {
        rmSync(ownerFile, { force: true });
        holder.close();
      };
    } catch (cause) {
      if (resultCode(cause) !== SQLITE_BUSY) {
        holder.close();
        throw new DatabaseProblem(`The data folder ${dataDir} cannot be written: ${sqliteProblem(cause)}.`, {
          cause,
        });
      }
      await sleep(EXCLUSIVE_RETRY_MS);
    }
  }
  holder.close();
  const owner = existsSync(ownerFile) ? `, ${readFileSync(ownerFile, 'utf8')},` : '';
  throw new DatabaseProblem(`Another Deskbell${owner} is busy with the database in ${dataDir}. Try again.`);
}
