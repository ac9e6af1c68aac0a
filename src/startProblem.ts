import { ConfigError } from './config.ts';
import { DatabaseProblem } from './database/database.ts';
import { databaseMessage } from './database/problems.ts';
import { VaultError } from './secrets.ts';
import { systemProblem } from './systemErrors.ts';

/** One clear line for each wrong setting; a stack trace only for a bug. */
export function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  if (error instanceof DatabaseProblem || error instanceof VaultError) return error.message;
  const known = databaseMessage(error) ?? systemProblem(error);
  if (known !== undefined) return known;
  const { syscall, message, stack } = error as NodeJS.ErrnoException;
  return syscall === undefined ? (stack ?? message) : message;
}
