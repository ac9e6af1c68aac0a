import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import type { Engine } from '../src/database/database.ts';
import { createLogger } from '../src/log.ts';
import { newSecretKey } from '../src/secrets.ts';
import { openServer } from '../src/server.ts';

const postgresUrl = process.env.TEST_POSTGRESQL_URL;
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

/** A database as the first start leaves it, with the demo data. A copy takes a fifth of the time of a first start. */
export async function createDemoDatabase(engine: Engine): Promise<TestDatabase> {
  const { TEST_DEMO_FOLDER: folder, TEST_DEMO_DATABASE: name, TEST_DEMO_KEY: key } = process.env;
  if (engine === 'sqlite') {
    const database = newSqlite();
    if (folder) cpSync(folder, database.env.DATA_DIR!, { recursive: true });
    return database;
  }
  return name && key ? newPostgres(key, name) : newPostgres(newSecretKey());
}

/** Makes the databases that `createDemoDatabase` copies, once for all test files. */
export async function prepareDemoDatabases(): Promise<TestDatabase> {
  const sqlite = newSqlite();
  await startOnce(sqlite);
  process.env.TEST_DEMO_FOLDER = sqlite.env.DATA_DIR;
  if (postgresUrl) {
    const key = newSecretKey();
    const postgres = await newPostgres(key);
    await startOnce(postgres);
    process.env.TEST_DEMO_DATABASE = new URL(postgres.env.DATABASE_URL!).pathname.slice(1);
    process.env.TEST_DEMO_KEY = key;
  }
  return sqlite;
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
  await asAdmin(`create database ${name} template ${template}`);
  const url = new URL(postgresUrl);
  url.pathname = name;
  // For the files that a server writes.
  const { env, remove } = newSqlite();
  return {
    env: { ...env, DATABASE_URL: url.href, SECRET_KEY: secretKey, DEMO: 'true' },
    async remove() {
      await asAdmin(`drop database ${name} with (force)`);
      await remove();
    },
  };
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

/** The first start migrates the database and writes the demo data and the keys. */
async function startOnce({ env }: TestDatabase): Promise<void> {
  const log = createLogger({ logLevel: 'error', logPretty: false });
  const server = await openServer(readConfig(env), log);
  await server.close();
}
