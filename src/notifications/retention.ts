import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { isBeingSent } from '../delivery/queue/deliveries.ts';

const BATCH_MAX = 100;

/**
 * Removes what was answered or resolved before this time, with its notes. What is pending stays, and so does an answer
 * that can be undone or whose message is not sent yet. Asks have a time of their own.
 */
export async function removeOldNotifications(
  database: Database,
  merchantId: MerchantId,
  before: Date,
  stop?: AbortSignal,
): Promise<void> {
  for (const outcome of ['answered', 'resolved']) {
    for (let count = BATCH_MAX; count === BATCH_MAX && !stop?.aborted; ) {
      count = await database.transaction(async (tx) => {
        const locked = tx.engine === 'postgres' ? 'for update of n skip locked' : '';
        const rows = await tx.all<{ id: number }>(
          // As a literal, so that the partial index fits.
          `select n.id from notifications n where n.merchant_id = $1 and n.outcome = '${outcome}' and n.updated_at < $2
            and n.undo_until is null and not ${isBeingSent('$1', 'n.id')}
            order by n.updated_at, n.id limit ${BATCH_MAX} ${locked}`,
          [merchantId, before.toISOString()],
        );
        const ids = rows.map(({ id }) => id).sort((a, b) => a - b);
        if (ids.length > 0) await removeNotifications(tx, merchantId, ids);
        return ids.length;
      });
      await nextTurn();
    }
  }
}

/** Removes notifications that the caller has locked. The statistics still count them. */
export async function removeNotifications(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<void> {
  const own = ownIdIn(tx, '$1', '$2');
  await tx.run(`update notifications set counted_for_good = 1 where ${own}`, [merchantId, ids]);
  await tx.run(`delete from notifications where ${own}`, [merchantId, ids]);
}
