import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash } from '@node-rs/argon2';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import type { Database, Engine } from '../../src/database/database.ts';
import { DEMO_USERS } from '../../src/demo.ts';
import { createLogger } from '../../src/log.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { openServer } from '../../src/server.ts';
import { createOnCluster, dropOnCluster, spreadTables } from './clusterDatabases.ts';

/** The coordinator of a real cluster. Then PostgreSQL's half of the tests runs there, on tables that are spread. */
export const citusUrl = process.env.TEST_CITUS_URL;
const postgresUrl = citusUrl ?? process.env.TEST_POSTGRESQL_URL;
/** With TEST_PGBOUNCER=1 all servers use PostgreSQL through it. */
const pgBouncerUrl = process.env.TEST_PGBOUNCER_URL;
export const engines: readonly Engine[] = postgresUrl ? ['sqlite', 'postgres'] : ['sqlite'];

/** A database for a test: the settings to connect to it, and a function to remove it. */
export interface TestDatabase {
  env: Record<string, string>;
  remove(): Promise<void>;
}

/** Creates an empty database. */
export async function createTestDatabase(engine: Engine): Promise<TestDatabase> {
  return engine === 'sqlite' ? newSqlite() : newPostgres(newSecretKey());
}

/**
 * With weak hashes the users have the same passwords, and sign-ins run the same code, but each takes 1 ms instead of 35.
 * Only tests about the cost or the time of a sign-in need real ones.
 */
type Hashes = 'real' | 'weak';

/** A database as the first start leaves it, with the demo data. A copy takes a fifth of the time of a first start. */
export async function createDemoDatabase(engine: Engine, hashes: Hashes = 'real'): Promise<TestDatabase> {
  const { TEST_DEMO_KEY: key } = process.env;
  const folder = process.env[`TEST_DEMO_FOLDER_${hashes}`];
  const name = process.env[`TEST_DEMO_DATABASE_${hashes}`];
  if (engine === 'sqlite') {
    const database = newSqlite();
    if (folder) cpSync(folder, database.env.DATA_DIR!, { recursive: true });
    return database;
  }
  if (citusUrl && key) {
    const database = await newPostgres(key);
    await prepare(database, hashes);
    return database;
  }
  return name && key ? newPostgres(key, name) : newPostgres(newSecretKey());
}

/** Makes the databases that `createDemoDatabase` copies, once for all test files. */
export async function prepareDemoDatabases(): Promise<Pick<TestDatabase, 'remove'>> {
  const folders: TestDatabase[] = [];
  process.env.TEST_DEMO_KEY = newSecretKey();
  for (const hashes of ['real', 'weak'] as const) {
    const sqlite = hashes === 'real' ? newSqlite() : await createDemoDatabase('sqlite');
    folders.push(sqlite);
    await prepare(sqlite, hashes);
    process.env[`TEST_DEMO_FOLDER_${hashes}`] = sqlite.env.DATA_DIR;
    if (!postgresUrl || citusUrl) continue;
    const postgres = await newPostgres(process.env.TEST_DEMO_KEY, process.env.TEST_DEMO_DATABASE_real);
    await prepare(postgres, hashes);
    const name = new URL(postgres.env.DATABASE_URL!).pathname.slice(1);
    process.env[`TEST_DEMO_DATABASE_${hashes}`] = name;
  }
  return {
    async remove() {
      for (const folder of folders) await folder.remove();
    },
  };
}

function newSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-test-'));
  return {
    env: { DATA_DIR: folder } as Record<string, string>,
    async remove() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function newPostgres(secretKey: string, template = 'template1'): Promise<TestDatabase> {
  if (!postgresUrl) throw new Error('no PostgreSQL: run the tests with npm test');
  const name = `t${randomBytes(8).toString('hex')}`;
  if (citusUrl) await createOnCluster(citusUrl, name);
  else await asAdmin(`create database ${name} template ${template}`);
  const url = new URL(postgresUrl);
  url.pathname = name;
  // For the files that a server writes.
  const { env: folder, remove } = newSqlite();
  const env = {
    ...{ ...folder, ...postgresAddresses(url), SECRET_KEY: secretKey, DEMO: 'true' },
    // Receivers are on this machine. With the embedded database that is the default.
    WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true',
  };
  if (citusUrl) await spreadTables(env);
  return {
    env,
    async remove() {
      if (citusUrl) await dropOnCluster(citusUrl, name);
      else await asAdmin(`drop database ${name} with (force)`);
      await remove();
    },
  };
}

function postgresAddresses(direct: URL): Record<string, string> {
  if (!pgBouncerUrl) return { DATABASE_URL: direct.href };
  const pooled = new URL(direct);
  pooled.port = new URL(pgBouncerUrl).port;
  return { DATABASE_URL: pooled.href, DATABASE_DIRECT_URL: direct.href };
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client(postgresUrl);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Lets PostgreSQL refuse writes, or accept them again, for a server with one connection. A refused write of the
 * background breaks the connection, so the next one gets the setting from its database.
 */
export async function setReadOnly(database: Database, isReadOnly: boolean): Promise<void> {
  const { name } = (await database.one<{ name: string }>('select current_database() as name'))!;
  const setting = `default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`;
  await asAdmin(`alter database ${name} set ${setting}`);
  await database.run(`set ${setting}`);
}

/** The first start migrates the database and writes the demo data and the keys. */
async function prepare({ env }: TestDatabase, hashes: Hashes): Promise<void> {
  const log = createLogger({ logLevel: 'error', logPretty: false });
  const server = await openServer(readConfig(env), log);
  if (hashes === 'weak') await weakenHashes(server.database);
  await server.close();
}

/** A hash contains its parameters, so the server needs no setting for this. */
async function weakenHashes(database: Database): Promise<void> {
  const weakest = { algorithm: 2, memoryCost: 8, timeCost: 1, parallelism: 1 };
  for (const { email, password } of DEMO_USERS) {
    await database.run('update users set password_hash = $1 where email = $2', [
      await hash(password, weakest),
      email,
    ]);
  }
}
