import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { bytesSql } from '../database/tables.ts';
import { NO_NOTIFICATION, OPEN } from './queue/table.ts';
import { DELIVERIES } from './tables.ts';

const PAGE = 500;

interface Row {
  id: number;
  created_at: string;
  updated_at: string;
  notification_id: number;
  is_open: number;
}

/** Counts what the merchant stores. Before the messages are locked with 0: see the lock order of `Transaction`. */
type CountBytes = (tx: Transaction, bytes: number) => Promise<void>;

/**
 * Removes messages that were finished before this time, with their history. One that is queued, waits or is being sent
 * stays, whatever its age.
 */
export async function removeOldDeliveries(
  database: Database,
  merchantId: MerchantId,
  before: Date,
  countBytes: CountBytes,
  stop?: AbortSignal,
): Promise<void> {
  const time = before.toISOString();
  for (let last = 0; ; ) {
    // In the order of their ids, which is about that of their times: it ends at the first that is not old.
    const rows = await database.all<Row>(
      `select id, created_at, updated_at, notification_id,
          case when state in ${OPEN} then 1 else 0 end as is_open
        from deliveries where merchant_id = $1 and endpoint_id = 0 and id > $2 order by id limit ${PAGE}`,
      [merchantId, last],
    );
    const old = rows.filter((row) => row.is_open === 0 && row.created_at < time && row.updated_at < time);
    if (old.length > 0) await remove(database, merchantId, old, time, countBytes);
    if (stop?.aborted || rows.length < PAGE || rows.at(-1)!.created_at >= time) return;
    last = rows.at(-1)!.id;
    await nextTurn();
  }
}

/** Somebody may have sent one again meanwhile: then it stays. */
function remove(
  database: Database,
  merchantId: MerchantId,
  old: readonly Row[],
  before: string,
  countBytes: CountBytes,
): Promise<void> {
  return database.transaction(async (tx) => {
    if (old.some(({ notification_id }) => notification_id === NO_NOTIFICATION)) await countBytes(tx, 0);
    const rows = await tx.run<{ id: number; bytes: number }>(
      `delete from deliveries where ${ownIdIn(tx, '$1', '$2')} and state not in ${OPEN} and updated_at < $3
        returning id, ${bytesSql(DELIVERIES)} as bytes`,
      [merchantId, old.map(({ id }) => id), before],
    );
    await tx.run(`delete from delivery_events where ${ownIdIn(tx, '$1', '$2', 'delivery_id')}`, [
      merchantId,
      rows.map(({ id }) => id),
    ]);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > 0) await countBytes(tx, -bytes);
  });
}
