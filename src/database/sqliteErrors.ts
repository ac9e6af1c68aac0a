import { systemReason } from '../systemErrors.ts';
import { DatabaseProblem, DatabaseUnavailable } from './database.ts';

/** Which of SQLite's errors mean that the database is unavailable, and which that it is damaged. */

export const SQLITE_BUSY = 5;
/** Read-only, I/O error, full: nothing can be written until somebody changes something about the disk. */
const NOT_WRITABLE: ReadonlyMap<number | undefined, string> = new Map([
  [8, 'its disk is read-only, or this user may not write its files'],
  [10, 'the disk reports an error, or a quota is used up'],
  [13, 'the disk is full'],
]);
/** Busy, locked, cannot open, and those above: problems of the disk, not of the statement. */
const UNAVAILABLE = new Set<number | undefined>([SQLITE_BUSY, 6, 14, ...NOT_WRITABLE.keys()]);
/** Malformed, not a database. */
const DAMAGED = new Set([11, 26]);

export function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

export const isNotWritable = (error: unknown): boolean => NOT_WRITABLE.has(resultCode(error));

export function translateSqliteError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (UNAVAILABLE.has(code)) {
    const why = NOT_WRITABLE.get(code);
    return new DatabaseUnavailable(`the embedded database cannot write${why ? `: ${why}` : ''}`, {
      cause: error,
    });
  }
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
  const { errstr, message } = error as { errstr?: string; message: string };
  return systemReason(error) ?? NOT_WRITABLE.get(resultCode(error)) ?? errstr ?? message;
}
