import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Database } from './database.ts';
import { openPostgres } from './postgres.ts';
import { databaseFile, openSqlite } from './sqlite.ts';

type DatabaseConfig = Pick<
  Config,
  'databaseUrl' | 'dataDir' | 'databasePoolSize' | 'databasePreparedStatements'
>;

/** `serve` takes the embedded database's folder for itself; a command joins whoever serves. */
export async function openDatabase(
  config: DatabaseConfig,
  purpose: 'serve' | 'command',
  onConnectionLost?: (error: Error) => void,
): Promise<Database> {
  if (config.databaseUrl === undefined) return openSqlite(config.dataDir, { lock: purpose === 'serve' });
  return openPostgres(config.databaseUrl, {
    poolSize: config.databasePoolSize,
    preparedStatements: config.databasePreparedStatements,
    ...(onConnectionLost ? { onConnectionLost } : {}),
  });
}

/** Whether opening would join a database rather than make one. A PostgreSQL is always there or away. */
export function databaseExists({ databaseUrl, dataDir }: DatabaseConfig): boolean {
  return databaseUrl !== undefined || existsSync(databaseFile(dataDir));
}
