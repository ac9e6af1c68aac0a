import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { NO_NOTIFICATION, OPEN } from './queue/table.ts';

const PAGE = 500;

interface Row {
  id: number;
  created_at: string;
  updated_at: string;
  notification_id: number;
  is_open: number;
}

/** Where the texts are counted that somebody wrote without a question. */
export interface StoredTexts {
  /** Before the messages are locked: see the lock order of `Transaction`. */
  lock(tx: Transaction): Promise<void>;
  remove(tx: Transaction, texts: readonly string[]): Promise<void>;
}

/**
 * Removes messages that were finished before this time, with their history. One that is queued, waits or is being sent
 * stays, whatever its age.
 */
export async function removeOldDeliveries(
  database: Database,
  merchantId: MerchantId,
  before: Date,
  stored: StoredTexts,
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
    if (old.length > 0) await remove(database, merchantId, old, time, stored);
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
  stored: StoredTexts,
): Promise<void> {
  const isCounted = (row: Pick<Row, 'notification_id'>) => row.notification_id === NO_NOTIFICATION;
  return database.transaction(async (tx) => {
    if (old.some(isCounted)) await stored.lock(tx);
    const rows = await tx.run<Pick<Row, 'id' | 'notification_id'> & { content: string }>(
      `delete from deliveries where ${ownIdIn(tx, '$1', '$2')} and state not in ${OPEN} and updated_at < $3
        returning id, notification_id, content`,
      [merchantId, old.map(({ id }) => id), before],
    );
    await tx.run(`delete from delivery_events where ${ownIdIn(tx, '$1', '$2', 'delivery_id')}`, [
      merchantId,
      rows.map(({ id }) => id),
    ]);
    const texts = rows.filter(isCounted).map(({ content }) => content);
    if (texts.length > 0) await stored.remove(tx, texts);
  });
}
