import { recordEvent, type Who } from '../../../audit/record.ts';
import type { EventName } from '../../../contract/auditEvents.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Database, Transaction } from '../../../database/database.ts';
import { NOT_TAKEN_BACK } from '../table.ts';
import { cancel } from './cancel.ts';
import { type Countries, requeue } from './retry.ts';

/** Manual changes to many deliveries, a batch at a time, so that no transaction is long. */

export const BATCH_SIZE = 100;
/** How many one call looks at. The rest needs another call. */
const MANY_MAX = 2000;

export interface Changed {
  /** How many were changed. */
  count: number;
  /** How many have no valid number, and stay as they are. */
  skipped: number;
}

export interface ManyResult extends Changed {
  /** Whether some are left: call again with `after_id`. */
  more: boolean;
  /** The last one that this call looked at. */
  after_id: number;
}

/** `read` returns the next ones after an id, at most `BATCH_SIZE` in the order of their ids. */
export async function changeInBatches<Row extends { id: number }>(
  afterId: number,
  read: (afterId: number) => Promise<Row[]>,
  change: (rows: readonly Row[]) => Promise<Changed>,
): Promise<ManyResult> {
  const result: ManyResult = { count: 0, skipped: 0, more: false, after_id: afterId };
  for (let looked = 0; ; ) {
    const rows = await read(result.after_id);
    if (rows.length === 0) return result;
    if (looked >= MANY_MAX) return { ...result, more: true };
    const { count, skipped } = await change(rows);
    result.count += count;
    result.skipped += skipped;
    result.after_id = rows.at(-1)!.id;
    looked += rows.length;
  }
}

interface Selectable {
  id: number;
  recipient: string;
}

interface Selected<State extends string> {
  state: State;
  since: Date | undefined;
  afterId: number;
}

/** All of a merchant's deliveries in this state whose state is not older than `since`, oldest first. */
function changeMany(
  database: Database,
  merchantId: MerchantId,
  { state, since, afterId }: Selected<string>,
  event: { what: EventName; who: Who },
  now: () => Date,
  change: (tx: Transaction, rows: readonly Selectable[], at: Date) => Promise<Changed>,
): Promise<ManyResult> {
  const read = (after: number) =>
    database.all<Selectable>(
      `select id, recipient from deliveries
        where merchant_id = $1 and endpoint_id = 0 and state = $2 and id > $3 and updated_at >= $4 and ${NOT_TAKEN_BACK}
        order by id limit ${BATCH_SIZE}`,
      [merchantId, state, after, since?.toISOString() ?? ''],
    );
  return changeInBatches(afterId, read, (rows) => {
    const at = now();
    return database.transaction(async (tx) => {
      const done = await change(tx, rows, at);
      // The batches of a call add to the count of one event.
      if (done.count > 0)
        await recordEvent(tx, { ...event, merchantId, at, about: { state }, count: done.count });
      return done;
    });
  });
}

export const retryMany = (
  database: Database,
  merchantId: MerchantId,
  selected: Selected<'failed' | 'cancelled'>,
  countries: Countries,
  by: Who,
  now: () => Date,
): Promise<ManyResult> =>
  changeMany(
    database,
    merchantId,
    selected,
    { what: 'delivery.retried', who: by },
    now,
    async (tx, rows, at) => {
      const failed = rows.map((row) => ({ ...row, state: selected.state }));
      const { queued, badNumbers } = await requeue(tx, merchantId, failed, countries, at);
      return { count: queued.length, skipped: badNumbers.length };
    },
  );

export const cancelMany = (
  database: Database,
  merchantId: MerchantId,
  selected: Selected<'queued' | 'waiting' | 'failed'>,
  by: Who,
  now: () => Date,
): Promise<ManyResult> =>
  changeMany(
    database,
    merchantId,
    selected,
    { what: 'delivery.cancelled', who: by },
    now,
    async (tx, rows, at) => {
      const ids = rows.map(({ id }) => id);
      return { count: await cancel(tx, merchantId, ids, at), skipped: 0 };
    },
  );
