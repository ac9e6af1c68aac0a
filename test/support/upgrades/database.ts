import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { readConfig } from '../../../src/config.ts';
import type { Database, Engine, Param } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createTestDatabase, type TestDatabase } from '../databases.ts';

/** What version 0.1.0 showed of its database, and the secrets of those who used it. */
export interface OldVersion {
  takenAt: string;
  secretKey: string;
  passwords: Record<string, string>;
  accessToken: string;
  refreshToken: string;
  /** Its session had ended. */
  endedRefreshToken: string;
  /** Messages to customers that were not sent yet, in order. */
  queued: { to: string; content: string }[];
  /** By user and path, the body of each response. */
  shown: Record<string, Record<string, string>>;
}

const read = (name: string) => gunzipSync(readFileSync(new URL(`./0.1.0.${name}.gz`, import.meta.url)));

/** A database that version 0.1.0 has filled over HTTP: see README.md. */
export async function createOldDatabase(engine: Engine): Promise<[TestDatabase, OldVersion]> {
  const old: OldVersion = JSON.parse(read(`${engine}.json`).toString());
  const testDatabase = await createTestDatabase(engine);
  const { env } = testDatabase;
  Object.assign(env, { SECRET_KEY: old.secretKey, DEMO: 'false' });
  if (engine === 'sqlite') writeFileSync(join(env.DATA_DIR!, 'deskbell.db'), read('sqlite.db'));
  else {
    const client = new pg.Client(env.DATABASE_URL);
    await client.connect();
    await client.query(read('postgres.sql').toString());
    await client.end();
  }
  return [testDatabase, old];
}

/** A database with the migrations up to this number, filled as the program of that time did. */
export async function createDatabaseAt(
  engine: Engine,
  migration: number,
  fill: (database: Database) => Promise<void>,
): Promise<TestDatabase> {
  const testDatabase = await createTestDatabase(engine);
  const database = await openDatabase(readConfig(testDatabase.env), 'serve');
  try {
    await migrate(database, () => new Date(), undefined, migration);
    await fill(database);
  } finally {
    await database.close();
  }
  return testDatabase;
}

export async function insertRow(
  database: Database,
  table: string,
  row: Record<string, Param>,
): Promise<void> {
  const names = Object.keys(row);
  const sql = `insert into ${table} (${names}) values (${names.map((_, n) => `$${n + 1}`)}) on conflict do nothing`;
  await database.run(sql, Object.values(row));
}
