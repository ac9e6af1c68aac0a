import { DatabaseProblem, DatabaseUnavailable } from './database.ts';

/** Which of SQLite's errors mean that the database is unavailable, and which that it is damaged. */

export const SQLITE_BUSY = 5;
/** Busy, locked, read-only, I/O error, full, cannot open: problems of the disk, not of the statement. */
const UNAVAILABLE = new Set([SQLITE_BUSY, 6, 8, 10, 13, 14]);
/** Malformed, not a database. */
const DAMAGED = new Set([11, 26]);

export function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

export function translateSqliteError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (UNAVAILABLE.has(code))
    return new DatabaseUnavailable('the embedded database cannot write', { cause: error });
  return DAMAGED.has(code)
    ? new DatabaseProblem(
        `The embedded database is damaged: ${sqliteProblem(error)}. Restore it from a backup.`,
        {
          cause: error,
        },
      )
    : error;
}

export function sqliteProblem(error: unknown): string {
  const { code, errstr, message } = error as { code?: string; errstr?: string; message: string };
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'permission denied';
  return errstr ?? message;
}
