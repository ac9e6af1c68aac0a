import pg from 'pg';
import { findProgram, startPostgres } from '../scripts/services.ts';
import { atTheEnd } from './processes.ts';

/** The one PostgreSQL of a run, whose databases everything measured on it shares. */
export async function startCluster(): Promise<string | undefined> {
  const program = findProgram('postgres');
  if (!program) {
    console.log('PostgreSQL was not found: SQLite alone is measured, and its writes against nothing.');
    return undefined;
  }
  const starting = startPostgres(program, { durable: true });
  atTheEnd(async () => (await starting).stop());
  return (await starting).url;
}

let databases = 0;

export async function newDatabase(url: string): Promise<string> {
  databases += 1;
  const name = `bench_${databases}`;
  await asAdmin(url, [`create database ${name}`]);
  return new URL(name, url).href;
}

/** What neither the service's time-outs nor a transaction may be around. */
export async function asAdmin(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}
