import { DatabaseUnavailable } from './database.ts';
import { connectionProblem, postgresProblem } from './postgresProblems.ts';
import { resultCode, sqliteProblem } from './sqliteErrors.ts';

/** One sentence about an error of a database, for whoever runs a command. Undefined if it is another error. */
export function databaseMessage(error: unknown): string | undefined {
  if (error instanceof DatabaseUnavailable) {
    const { cause } = error;
    const why = cause === undefined ? undefined : (problemOf(cause) ?? awayProblem(cause));
    return `The database cannot be used: ${why ?? 'it does not respond'}.`;
  }
  if (!(error instanceof Error)) return undefined;
  const known = problemOf(error);
  if (known !== undefined) return `The database refused this: ${known}.`;
  // Its own message may contain values.
  if ('severity' in error) return `The database returned an error: ${(error as { code?: string }).code}.`;
  return undefined;
}

const problemOf = (error: unknown): string | undefined =>
  resultCode(error) === undefined ? postgresProblem(error) : sqliteProblem(error);

/** Only what the driver and the operating system say about the connection has no values. */
const awayProblem = (cause: unknown): string | undefined =>
  cause instanceof Error && !('severity' in cause) ? connectionProblem(cause) : undefined;
