import { existsSync } from 'node:fs';
import { PROGRAM } from '../installation.ts';
import { isIncomplete } from './copy/copy.ts';
import { type Database, DatabaseProblem } from './database.ts';
import { HOLDER, type Holder, holderText } from './locks.ts';
import { isSpreadByMerchant } from './spread/detect.ts';
import { isUnfinished } from './spread/keys.ts';
import { openSqlite } from './sqlite.ts';
import { databaseFile } from './sqliteFolder.ts';

interface DatabaseOptions {
  /** Absent: the embedded SQLite database in `dataDir`. */
  databaseUrl: string | undefined;
  dataDir: string;
  databasePoolSize: number;
  databasePreparedStatements: boolean;
  databaseDirectUrl?: string | undefined;
  /** Says why a migration waits for others. */
  onWait?: (why: string) => void;
}

type Purpose = 'serve' | 'command' | 'distribute';

/**
 * Opens it for use: not while a restore or a move into it is incomplete, and only to `distribute` while that is
 * unfinished. `serve` locks the folder of the embedded database. A `command` does not, so it can run while the server runs.
 */
export async function openDatabase(
  options: DatabaseOptions,
  purpose: Purpose,
  onConnectionLost?: (error: Error) => void,
): Promise<Database> {
  const database = await openEngine(options, purpose, onConnectionLost);
  try {
    if (await isIncomplete(database)) throw new DatabaseProblem(INCOMPLETE);
    if (purpose !== 'distribute' && (await isUnfinished(database))) throw await unfinishedProblem(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * For a server or worker that has just announced itself: `db distribute` may have looked before, and have begun after this
 * process opened the database.
 */
export async function refuseIfSpreadMeanwhile(database: Database): Promise<void> {
  if (database.engine === 'sqlite') return;
  if (await isUnfinished(database)) throw await unfinishedProblem(database);
  if ((await isSpreadByMerchant(database.all)) !== database.isSpread)
    throw new DatabaseProblem(
      'The tables were spread over the nodes while this process started. Start it again.',
    );
}

const INCOMPLETE =
  'This database is not complete: a restore or a move into it was interrupted. Run the same command again.';

/** It may also be at work right now: then it has the lock of the migrations. */
async function unfinishedProblem(database: Database): Promise<DatabaseProblem> {
  const holder = await database.one<Holder>(HOLDER, ['migrate']);
  return new DatabaseProblem(
    holder
      ? `The tables are being spread over the nodes right now (${holderText(holder)}). Wait until "${PROGRAM} db distribute" has finished.`
      : `Spreading the tables over the nodes was interrupted: foreign keys are missing. Run "${PROGRAM} db distribute" again.`,
  );
}

async function openEngine(
  options: DatabaseOptions,
  purpose: Purpose,
  onConnectionLost?: (error: Error) => void,
): Promise<Database> {
  if (options.databaseUrl === undefined) return openSqlite(options.dataDir, { lock: purpose === 'serve' });
  // Loaded only here: the driver would add a tenth to the start of every command on the embedded database.
  const { openPostgres } = await import('./postgres.ts');
  return openPostgres(options.databaseUrl, {
    poolSize: options.databasePoolSize,
    preparedStatements: options.databasePreparedStatements,
    directUrl: options.databaseDirectUrl,
    onWait: options.onWait,
    isCommand: purpose !== 'serve',
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
