import { closeSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { sumsOf } from '../../src/database/copy/copy.ts';
import { openSnapshot } from '../../src/database/copy/place.ts';
import type { Engine } from '../../src/database/database.ts';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { root, runAsProcess } from './command.ts';
import { createDemoDatabase, type TestDatabase } from './databases.ts';
import { leaveRows } from './rows.ts';
import { startDeskbell } from './server.ts';
import { until } from './shops.ts';

/** For tests that copy a whole database. */

/** What COPY, JSON and shells have their own ideas about. */
const ODD = 'tab\there, back\\slash, \\N, \\., "quotes", line\nend\r\n, ünïcödé €, 😀, \u2028, {"a":1.0}';

/** A server uses up these rows of the first merchant, or cannot use made-up ones. */
const OF_OTHERS = new Set(['new_events', 'inbox_changes', 'channel_settings']);

/** Rows in every table of the embedded database: as merchants leave them, and made-up ones where there were none. */
export async function fillEveryTable(database: TestDatabase): Promise<void> {
  const deskbell = await startDeskbell('sqlite', { WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true' }, database);
  await leaveRows(deskbell);
  await deskbell.close();
  const connection = new DatabaseSync(databaseFile(database.env.DATA_DIR!));
  for (const { name, sql } of connection
    .prepare(
      `select name, sql from sqlite_schema where type = 'table' and sql like 'create table%' and name not like '%\\_index\\_%' escape '\\'`,
    )
    .all() as { name: string; sql: string }[]) {
    const isFilled = connection.prepare(`select 1 from "${name}"`).get() && !OF_OTHERS.has(name);
    if (isFilled || name === 'sending_hold') continue;
    const columns = connection
      .prepare('select name, lower(type) as type from pragma_table_xinfo(?) where hidden = 0')
      .all(name) as { name: string; type: string }[];
    const values = columns.map((column) => {
      if (column.name === 'merchant_id') return OF_OTHERS.has(name) ? 2 : 1;
      if (column.name === 'seq') return 1_000_000;
      if (/int/.test(column.type)) return 1;
      if (/double/.test(column.type)) return 0.1 + 0.2;
      return (
        new RegExp(`${column.name} text[^,]*check \\(${column.name} in \\('(\\w+)'`).exec(sql)?.[1] ??
        (/_(at|until|on)$|^at$|^until$/.test(column.name) ? '2026-01-15T09:30:00.000Z' : ODD)
      );
    });
    connection
      .prepare(
        `insert into "${name}" (${columns.map((column) => `"${column.name}"`)}) values (${columns.map(() => '?')})`,
      )
      .run(...values);
  }
  connection.prepare('update merchants set name = ? where id = 2').run(ODD);
  connection.prepare('update documents set body = ? where id = 1').run(ODD);
  connection.close();
}

/** With the demo data, also where no test has prepared any. */
export async function createUsedDatabase(engine: Engine): Promise<TestDatabase> {
  const database = await createDemoDatabase(engine, 'weak');
  await (await startDeskbell(engine, { WORKER: 'false' }, database)).close();
  return database;
}

/** Writes over bytes in the middle of a file. */
export function damage(file: string, at: number, length: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(length, 0xff), 0, length, at);
  closeSync(descriptor);
}

const placeOf = ({ env }: TestDatabase) => ({ databaseUrl: env.DATABASE_URL, dataDir: env.DATA_DIR! });

/** The number of rows and a checksum of every table. */
export async function tablesOf(database: TestDatabase) {
  const store = await openSnapshot(placeOf(database));
  try {
    return await sumsOf(store, () => {});
  } finally {
    await store.close();
  }
}

/**
 * Waits until a server or command that has ended has no connection any more: PostgreSQL notices that a moment later, and
 * until then a restore or move refuses the database.
 */
export async function untilUnused({ env }: Pick<TestDatabase, 'env'>): Promise<void> {
  if (env.DATABASE_URL === undefined) return;
  const client = new pg.Client(env.DATABASE_DIRECT_URL ?? env.DATABASE_URL);
  await client.connect();
  const others = `select pid from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'deskbell%'`;
  try {
    await until('nobody uses the database', async () => (await client.query(others)).rows.length === 0);
  } finally {
    await client.end();
  }
}

/** Where a command is killed: at the commit with this number, or see killAtCommit.ts. */
export type KillAt = number | { sql: string; nth: number } | 'rename';

/** Runs a command and kills it. Returns whether it got so far. */
export async function runAndKill(
  args: readonly string[],
  env: Record<string, string>,
  at: KillAt,
): Promise<boolean> {
  const { code } = await runAsProcess(args, {
    env: { ...env, ...killSettings(at) },
    // Not the bundle: it has its own copy of the driver.
    program: [process.execPath, `${root}src/cli/main.ts`],
  });
  return code === null;
}

export const killSettings = (at: KillAt): Record<string, string> => ({
  NODE_OPTIONS: `--import ${new URL('./killAtCommit.ts', import.meta.url).href}`,
  ...(typeof at === 'number'
    ? { KILL_AT: String(at) }
    : at === 'rename'
      ? { KILL_AT_RENAME: 'true' }
      : { KILL_AT: String(at.nth), KILL_AT_SQL: at.sql }),
});
