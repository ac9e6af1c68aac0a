import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { type ApiError, rateLimited } from '../errors.ts';
import { type Attempt, countFailure, type FoundAccount, findAccount } from './attempts.ts';

/** `right` is the result of a successful check. A `wrong` guess counts as a failed sign-in, a `missing` one does not. */
type Checked<T> = { right: T } | { wrong: ApiError } | { missing: ApiError };

/**
 * A wrong guess is answered this long after its check, when it has been counted. Counting it takes a fraction of a
 * millisecond longer for an account that exists, because its audit event is often a new row. Without the wait, two
 * thousand guesses on a quiet server could tell which accounts exist.
 */
const COUNTED_WITHIN_MS = 10;

/** Checks a password or a code, within the limits for failed sign-ins. */
export async function checkGuess<T>(
  database: Database,
  attempt: Attempt,
  check: (found: FoundAccount) => Promise<Checked<T>>,
  lookUp = (attempt: Attempt) => findAccount(database, attempt),
): Promise<T> {
  const found = await lookUp(attempt);
  if (found.retryAfterSeconds > 0) throw rateLimited(found.retryAfterSeconds);
  const checked = await check(found);
  const isKnown = found.lastAtPlace !== null;
  const isWrong = 'wrong' in checked;
  if (isWrong) {
    const [isCounted] = await Promise.all([
      countFailure(database, attempt, isKnown, found.account),
      sleep(COUNTED_WITHIN_MS),
    ]);
    if (isCounted) throw checked.wrong;
  }
  // Other attempts may have reached a limit meanwhile. Above it, a right and a wrong guess get the same response.
  const { retryAfterSeconds } = await findAccount(database, attempt);
  if (isWrong || retryAfterSeconds > 0) throw rateLimited(Math.max(1, retryAfterSeconds));
  if ('missing' in checked) throw checked.missing;
  return checked.right;
}
