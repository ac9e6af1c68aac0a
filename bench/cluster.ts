import pg from 'pg';
import { findProgram, startPostgres } from '../scripts/services.ts';
import { onExit } from './processes.ts';

/** Starts the PostgreSQL of this run. Everything that is measured uses a database on it. */
export async function startCluster(): Promise<string | undefined> {
  const program = findProgram('postgres');
  if (!program) {
    console.log('PostgreSQL was not found: only SQLite is measured, and there is no floor for its writes.');
    return undefined;
  }
  const starting = startPostgres(program, { durable: true });
  onExit(async () => (await starting).stop());
  return (await starting).url;
}

let databases = 0;

export async function newDatabase(url: string): Promise<string> {
  databases += 1;
  const name = `bench_${databases}`;
  await asAdmin(url, [`create database ${name}`]);
  return new URL(name, url).href;
}

/** Runs statements that need no time-out and must not be in a transaction. */
export async function asAdmin(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}
