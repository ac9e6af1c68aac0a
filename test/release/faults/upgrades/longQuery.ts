import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Somebody else's report: a transaction that has read the notifications and stays open. */
export async function holdTable(url: string, ms: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select 1 from notifications limit 1');
    await client.query('select 1 from deliveries limit 1');
    await sleep(ms);
    await client.query('commit');
  } finally {
    await client.end();
  }
}
