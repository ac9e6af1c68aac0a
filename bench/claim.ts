import type { Database } from '../src/database/database.ts';
import { claimOf, dueQueues } from '../src/delivery/queue/claim.ts';

/** Longer than the benchmark runs, so that a claimed message does not become due again. */
const LEASE_MS = 60 * 60_000;

/**
 * One claim as a worker does it. Returns how many messages were claimed, or undefined if nothing was due.
 */
export async function claimOnce(database: Database, max: number): Promise<number | undefined> {
  const at = new Date();
  const [queue] = await dueQueues(database, at, undefined);
  if (!queue) return undefined;
  const { claimed } = await claimOf(database, queue, {
    channelId: 'simulator',
    reportsStatus: () => false,
    max,
    campaignsMax: 0,
    at,
    leaseUntil: new Date(at.getTime() + LEASE_MS),
  });
  return claimed.length;
}
