import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { logEvents } from '../../events/record.ts';
import { makeQueueDue, NEVER, notificationIdOf, OPEN } from './table.ts';

/** Which open messages have been reported because they need attention. */

const SINCE = 'coalesce(requeued_at, created_at)';
const IS_UNNOTICED = `endpoint_id = 0 and attention_at is null and state in ${OPEN}`;

export interface Unnoticed {
  merchant_id: MerchantId;
  id: number;
  state: 'queued' | 'sending' | 'waiting';
  since: string;
}

/** Of all merchants, those that have waited longest first. Reads without locks: see `notice`. */
export const listUnnoticed = (
  queries: Queries,
  { after, until, limit }: { after: Pick<Unnoticed, 'since' | 'id'>; until: string; limit: number },
): Promise<Unnoticed[]> =>
  queries.all(
    `select merchant_id, id, state, ${SINCE} as since from deliveries
      where ${IS_UNNOTICED} and (${SINCE}, id) > ($1, $2) and ${SINCE} <= $3 order by ${SINCE}, id limit $4`,
    [after.since, after.id, until, limit],
  );

interface Noticed {
  id: number;
  notification_id: number | null;
  conversation_id: number;
  state: string;
  last_code: string | null;
}

/** Writes the event of each of these messages that has none. Of several workers one does it. Returns how many. */
export const notice = (
  database: Database,
  merchantId: MerchantId,
  ids: readonly number[],
  kind: 'waiting' | 'stopped',
  at: Date,
): Promise<number> =>
  database.transaction(async (tx) => {
    const rows = await tx.run<Noticed>(
      `update deliveries set attention_at = $3 where ${ownIdIn(tx, '$1', '$2')} and ${IS_UNNOTICED}
        returning id, ${notificationIdOf()} as notification_id, conversation_id, state, last_code`,
      [merchantId, ids, at.toISOString()],
    );
    if (rows.length === 0) return 0;
    rows.sort((a, b) => a.id - b.id);
    await logEvents(
      tx,
      merchantId,
      rows.map(({ id, notification_id, conversation_id, state, last_code }) => ({
        type: 'delivery.needs_attention',
        at,
        notificationId: notification_id,
        data: { delivery_id: id, notification_id, conversation_id, state, code: last_code, kind },
      })),
    );
    // Only renews the version: whoever shows the messages reads them again.
    await makeQueueDue(tx, merchantId, NEVER);
    return rows.length;
  });

/** Whether a message still waits. */
export async function isOpen(queries: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const row = await queries.one(
    `select id from deliveries where merchant_id = $1 and id = $2 and state in ${OPEN}`,
    [merchantId, id],
  );
  return row !== undefined;
}

/** Of each state, the newest ones. */
const COUNTED_MAX = 1000;

/** How many messages have begun to need attention after `since`, and when the first of them did. */
export async function countNoticed(
  queries: Queries,
  merchantId: MerchantId,
  since: string,
): Promise<{ count: number; first: string | null }> {
  const states = {
    failed: 'updated_at',
    queued: 'attention_at',
    waiting: 'attention_at',
    sending: 'attention_at',
  };
  const newest = Object.entries(states).map(
    ([state, column]) => `select at from (select ${column} as at from deliveries
      where merchant_id = $1 and endpoint_id = 0 and state = '${state}' order by id desc limit ${COUNTED_MAX}) ${state}_ones`,
  );
  const row = await queries.one<{ count: number; first: string | null }>(
    `select count(*) as count, min(at) as first from (${newest.join(' union all ')}) newest where at > $2`,
    [merchantId, since],
  );
  return row!;
}
