import { setTimeout as sleep } from 'node:timers/promises';
import { batchPerTick } from '../../database/batchPerTick.ts';
import { type Database, DatabaseUnavailable } from '../../database/database.ts';
import { type Outcome, settle } from '../queue/settle.ts';

const RETRY_MS = 500;

/** Writes an outcome, together with others that are waiting to be written. False if the lease was already lost. */
export function createOutcomeWriter(
  database: Database,
  now: () => Date,
): (outcome: Outcome) => Promise<boolean> {
  const write = batchPerTick((outcomes: readonly Outcome[]) => writeAll(database, outcomes, now()), {
    serialize: true,
  });
  // A sent message must be recorded as sent: until the lease ends, wait for a database that is unavailable.
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

type Written = boolean | { error: unknown };

/** One transaction for all. If it fails, one for each queue, so that a problem with one spares the others. */
async function writeAll(
  database: Database,
  outcomes: readonly Outcome[],
  at: Date,
): Promise<readonly Written[]> {
  const queueOf = ({ delivery }: Outcome) => `${delivery.merchant_id} ${delivery.endpoint_id}`;
  const inOrder = outcomes.toSorted(
    ({ delivery: a }, { delivery: b }) => a.merchant_id - b.merchant_id || a.endpoint_id - b.endpoint_id,
  );
  const byQueue = [...Map.groupBy(inOrder, queueOf).values()];
  const write = async (queues: typeof byQueue): Promise<Map<number, boolean>> => {
    const written = new Map<number, boolean>();
    await database.transaction(async (tx) => {
      for (const own of queues) {
        const ids = await settle(tx, own[0]!.delivery.merchant_id, own, at);
        for (const { delivery } of own) written.set(delivery.id, ids.has(delivery.id));
      }
    });
    return written;
  };
  const results = new Map<number, Written>();
  try {
    for (const [id, written] of await write(byQueue)) results.set(id, written);
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return outcomes.map(() => ({ error }));
    for (const queue of byQueue) {
      const alone = await write([queue]).catch((error: unknown) => ({ error }));
      for (const { delivery } of queue) {
        results.set(delivery.id, 'error' in alone ? alone : alone.get(delivery.id)!);
      }
    }
  }
  return outcomes.map(({ delivery }) => results.get(delivery.id)!);
}
