import { existsSync } from 'node:fs';
import type { Database } from './database.ts';
import { openSqlite } from './sqlite.ts';
import { databaseFile } from './sqliteFolder.ts';

interface DatabaseOptions {
  /** Absent: the embedded SQLite database in `dataDir`. */
  databaseUrl: string | undefined;
  dataDir: string;
  databasePoolSize: number;
  databasePreparedStatements: boolean;
  databaseDirectUrl?: string | undefined;
}

/** `serve` locks the folder of the embedded database. A `command` does not, so it can run while the server runs. */
export async function openDatabase(
  options: DatabaseOptions,
  purpose: 'serve' | 'command',
  onConnectionLost?: (error: Error) => void,
): Promise<Database> {
  if (options.databaseUrl === undefined) return openSqlite(options.dataDir, { lock: purpose === 'serve' });
  // Loaded only here: the driver would add a tenth to the start of every command on the embedded database.
  const { openPostgres } = await import('./postgres.ts');
  return openPostgres(options.databaseUrl, {
    poolSize: options.databasePoolSize,
    preparedStatements: options.databasePreparedStatements,
    directUrl: options.databaseDirectUrl,
    ...(onConnectionLost ? { onConnectionLost } : {}),
  });
}

/** Whether opening would use an existing database. Always true for PostgreSQL: opening never creates one. */
export function databaseExists({
  databaseUrl,
  dataDir,
}: Pick<DatabaseOptions, 'databaseUrl' | 'dataDir'>): boolean {
  return databaseUrl !== undefined || existsSync(databaseFile(dataDir));
}
