import type { Database } from '../src/database/database.ts';
import { claim } from '../src/delivery/queue/enqueue.ts';

const LEASE_MS = 60_000;

/**
 * ADAPTER: one claim as a worker does it. If the claim function of src/delivery/queue/ changes, only this file has
 * to follow. Returns how many messages were claimed.
 */
export async function claimOnce(database: Database, max: number): Promise<number> {
  const at = new Date();
  const claimed = await claim(database, { max, at, leaseUntil: new Date(at.getTime() + LEASE_MS) });
  return claimed.length;
}
