import { type Config, readConfig } from '../config.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { migrationStatus } from '../database/migrate.ts';
import { databaseExists, openDatabase } from '../database/open.ts';
import type { ChangeStatus } from '../database/upgrade/changes.ts';
import { findMerchant, type Merchant } from '../merchants/store.ts';
import { Failure, PROGRAM, UsageError } from './command.ts';
import { count } from './terminal.ts';

const PREPARE = `Run "${PROGRAM} db migrate" or start the server.`;

/** For a command that needs the tables. Only `db migrate` and the server create them. */
export async function withDatabase<T>(work: (database: Database, config: Config) => Promise<T>): Promise<T> {
  return withBareDatabase(async (database, config) => {
    await requireTables(database);
    return work(database, config);
  });
}

/** Opens the database, even while a server runs. Creates one only if the command asks for it. */
export async function withBareDatabase<T>(
  work: (database: Database, config: Config) => Promise<T>,
  { make = false, purpose = 'command' as 'command' | 'distribute' } = {},
): Promise<T> {
  const config = readConfig();
  const database = await join(config, make, purpose);
  try {
    return await work(database, config);
  } finally {
    await database.close();
  }
}

/** Like `withDatabase`, for a list that is printed page by page. */
export async function* pagesOf<T>(read: (database: Database) => AsyncIterable<T>): AsyncGenerator<T> {
  const database = await join(readConfig(), false);
  try {
    await requireTables(database);
    yield* read(database);
  } finally {
    await database.close();
  }
}

/** Names the database, so that people see if the settings point to the wrong one. Never shows a password. */
export function databasePlace({ databaseUrl, dataDir }: Config): string {
  if (databaseUrl === undefined) return `in ${dataDir}`;
  const [, hosts = '', name = ''] = /^\w+:\/\/(?:[^/?#]*@)?([^/?#@]*)\/?([^?#]*)/.exec(databaseUrl) ?? [];
  return `${name} at ${hosts || 'this machine'}`;
}

/** "Migration 31 changes old rows in the background: 1,200 of about 50,000 done." */
export const changeProgress = ({ migration, rows, rows_done }: ChangeStatus): string =>
  `Migration ${migration} changes old rows in the background: ${rows_done.toLocaleString('en')}${
    rows === null ? '' : ` of about ${rows.toLocaleString('en')}`
  } done.`;

async function join(
  config: Config,
  make: boolean,
  purpose: 'command' | 'distribute' = 'command',
): Promise<Database> {
  if (!make && !databaseExists(config)) {
    throw new Failure(`There is no database in ${config.dataDir} yet. ${PREPARE}`);
  }
  // On standard error, because standard output is for the result.
  const onWait = (why: string) => void process.stderr.write(`${why}\n`);
  return openDatabase({ ...config, onWait }, purpose);
}

async function requireTables(database: Database): Promise<void> {
  const pending = (await migrationStatus(database)).filter(({ applied_at }) => applied_at === null).length;
  if (pending > 0)
    throw new Failure(`The database is not ready: ${count(pending, 'migration')} pending. ${PREPARE}`);
}

/** Read it with `merchantOf`. */
export const MERCHANT = {
  type: 'string',
  value: 'ID',
  about: 'The merchant: see "merchant list"',
  required: true,
} as const;

export async function merchantOf(database: Database, given: string): Promise<Merchant & { id: MerchantId }> {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new UsageError('--merchant takes a number: see "merchant list".');
  const merchant = await findMerchant(database, Number(given));
  if (!merchant) throw new Failure(`There is no merchant ${given}. "${PROGRAM} merchant list" shows them.`);
  return merchant as Merchant & { id: MerchantId };
}
