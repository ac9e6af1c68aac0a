import type { Database } from '../src/database/database.ts';
import { claimOf, dueMerchants } from '../src/delivery/queue/claim.ts';

/** Longer than the benchmark runs, so that a claimed message does not become due again. */
const LEASE_MS = 60 * 60_000;

/**
 * ADAPTER: one claim as a worker does it. If the claim functions of src/delivery/queue/ change, only this file has
 * to follow. Returns how many messages were claimed, or undefined if nothing was due.
 */
export async function claimOnce(database: Database, max: number): Promise<number | undefined> {
  const at = new Date();
  const [merchantId] = await dueMerchants(database, at, []);
  if (merchantId === undefined) return undefined;
  const { claimed } = await claimOf(database, merchantId, {
    channelId: 'simulator',
    reportsStatus: () => false,
    max,
    campaignsMax: 0,
    at,
    leaseUntil: new Date(at.getTime() + LEASE_MS),
  });
  return claimed.length;
}
