import { ConfigError } from './config.ts';
import { DatabaseProblem, DatabaseUnavailable } from './database/database.ts';
import { VaultError } from './secrets.ts';

/** One clear line for each wrong setting; a stack trace only for a bug. */
export function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  if (error instanceof DatabaseProblem || error instanceof VaultError) return error.message;
  if (error instanceof DatabaseUnavailable)
    return `The database cannot be used: ${(error.cause as Error).message}.`;
  const { syscall, message, stack } = error as NodeJS.ErrnoException;
  return syscall === undefined ? (stack ?? message) : message;
}
