import { closeSync, existsSync, fsyncSync, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DatabaseProblem, type Engine } from '../database.ts';
import { sqliteProblem } from '../sqliteErrors.ts';
import { compare, type OnProgress, type Sums, sumsOf } from './copy.ts';
import { sqliteStore } from './sqliteStore.ts';
import { BACKUP_INFO, PROGRESS, type Store } from './store.ts';

/**
 * A backup is an SQLite database with all tables of Deskbell, whatever the engine that it was made from. It can be restored
 * into both, and opened with any SQLite program.
 */
export interface BackupInfo {
  id: string;
  made_at: string;
  /** The version of Deskbell. */
  version: string;
  engine: Engine;
  /** The fingerprints of the secret keys that it needs: two while the key was being changed, none if they were not known. */
  keys: readonly string[];
  tables: Sums;
}

export function writeInfo(connection: DatabaseSync, info: BackupInfo): void {
  connection.exec(`drop table if exists ${BACKUP_INFO}; create table ${BACKUP_INFO} (info text not null)`);
  connection.prepare(`insert into ${BACKUP_INFO} (info) values (?)`).run(JSON.stringify(info));
}

export interface Backup {
  /** Undefined for a copy that another program has made: then nothing says what it should contain. */
  info: BackupInfo | undefined;
  store: Store;
  connection: DatabaseSync;
}

const damaged = (file: string, why: string, cause?: unknown) =>
  new DatabaseProblem(`${file} is damaged or not a backup: ${why}.`, { cause });

const HEADER = 'SQLite format 3\u0000';

/** Opens the file alone. A backup has nothing in other files. */
export function openBackup(file: string): Backup {
  let size: number;
  const header = Buffer.alloc(100);
  try {
    size = statSync(file).size;
    const descriptor = openSync(file, 'r');
    readSync(descriptor, header, 0, header.length, 0);
    closeSync(descriptor);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseProblem(
      code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read: ${sqliteProblem(cause)}.`,
      { cause },
    );
  }
  if (header.toString('latin1', 0, 16) !== HEADER) throw damaged(file, 'it is not an SQLite file');
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const expected = pageSize * header.readUInt32BE(28);
  if (size < expected) throw damaged(file, `it has ${size} of ${expected} bytes`);
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  const connection = new DatabaseSync(url, { readOnly: true });
  try {
    const info = readInfo(connection);
    if (!info) refuseLog(file);
    return { info, store: sqliteStore(connection), connection };
  } catch (cause) {
    connection.close();
    if (cause instanceof DatabaseProblem) throw cause;
    throw damaged(file, sqliteProblem(cause), cause);
  }
}

/** A copy of a database in use has its last writes in a second file. A backup has everything in one. */
function refuseLog(file: string): void {
  for (const log of [`${file}-wal`, `${file}-journal`])
    if (existsSync(log) && statSync(log).size > 0)
      throw new DatabaseProblem(
        `${file} is a copy without its last writes: they are in ${log}. Use a file that "backup" has written, or let SQLite join them: sqlite3 ${file} 'pragma journal_mode = delete'`,
      );
}

function readInfo(connection: DatabaseSync): BackupInfo | undefined {
  if (connection.prepare('select 1 from sqlite_schema where name = ?').get(PROGRESS))
    throw new Error('it is not complete');
  if (!connection.prepare('select 1 from sqlite_schema where name = ?').get(BACKUP_INFO)) {
    if (!connection.prepare(`select 1 from sqlite_schema where name = 'schema_migrations'`).get())
      throw new Error('it has no tables of Deskbell');
    return undefined;
  }
  const row = connection.prepare(`select info from ${BACKUP_INFO}`).get() as { info: string };
  const info = JSON.parse(row.info) as BackupInfo | null;
  if (!isInfo(info)) throw new Error('what it says about itself is not from Deskbell');
  return info;
}

/** It is printed and stored. */
const isInfo = (info: Partial<BackupInfo> | null): info is BackupInfo =>
  [info?.id, info?.version].every((text) => typeof text === 'string' && /^[\w.-]{1,64}$/.test(text)) &&
  typeof info?.made_at === 'string' &&
  /^\d{4}-[\d:.TZ-]{16,24}$/.test(info.made_at) &&
  Array.isArray(info.keys) &&
  info.keys.every((key) => typeof key === 'string' && /^[\w-]{12}$/.test(key)) &&
  typeof info.tables === 'object';

/** Reads all of it: its structure, and the checksums of its tables. */
export async function checkBackup(
  file: string,
  { info, store, connection }: Backup,
  check: StructureCheck,
  onProgress: OnProgress,
): Promise<void> {
  try {
    const problem = structureProblem(connection, check);
    if (problem !== undefined) throw new Error(problem);
    if (info) compare(info.tables, await sumsOf(store, onProgress));
  } catch (cause) {
    throw damaged(file, sqliteProblem(cause).replace(/\.$/, ''), cause);
  }
}

/** The quick one does not compare indexes with their tables, which takes as long as everything else. */
export type StructureCheck = 'integrity_check' | 'quick_check';

/** The first problem that SQLite finds in the structure of the file. */
export function structureProblem(connection: DatabaseSync, check: StructureCheck): string | undefined {
  const checked = connection.prepare(`pragma ${check}(1)`).get() as Record<string, string>;
  const [result] = Object.values(checked);
  return result === 'ok' ? undefined : result;
}

/** So that it survives a power cut: a file, or the names in a folder. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
