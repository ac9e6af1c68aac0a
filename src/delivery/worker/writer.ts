import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import { batchPerTick } from '../../database/batchPerTick.ts';
import { type Database, DatabaseUnavailable } from '../../database/database.ts';
import { type Outcome, settle } from '../queue/settle.ts';

const RETRY_MS = 500;

/** Writes an outcome, together with the others that are known at that moment. False: the lease was lost before. */
export function createOutcomeWriter(
  database: Database,
  now: () => Date,
): (outcome: Outcome) => Promise<boolean> {
  const write = batchPerTick((outcomes: readonly Outcome[]) => writeAll(database, outcomes, now()), {
    serialize: true,
  });
  // A message that was sent must be known as sent: while the lease lasts, wait for an absent database.
  return async (outcome) => {
    for (;;) {
      const written = await write(outcome);
      if (typeof written === 'boolean') return written;
      const { error } = written;
      const leaseIsOver = Date.parse(outcome.delivery.due_at) <= now().getTime();
      if (!(error instanceof DatabaseUnavailable) || leaseIsOver) throw error;
      await sleep(RETRY_MS);
    }
  };
}

/** One transaction per merchant: no merchant waits for another's rows, and none fails for what is wrong with another. */
async function writeAll(
  database: Database,
  outcomes: readonly Outcome[],
  at: Date,
): Promise<(boolean | { error: unknown })[]> {
  const byMerchant = Map.groupBy(outcomes, ({ delivery }) => delivery.merchant_id);
  const results = new Map<MerchantId, ReadonlySet<number> | { error: unknown }>();
  await Promise.all(
    [...byMerchant].map(async ([merchantId, own]) => {
      const result = await database
        .transaction((tx) => settle(tx, merchantId, own, at))
        .catch((error: unknown) => ({ error }));
      results.set(merchantId, result);
    }),
  );
  return outcomes.map(({ delivery }) => {
    const result = results.get(delivery.merchant_id)!;
    return 'error' in result ? result : result.has(delivery.id);
  });
}
