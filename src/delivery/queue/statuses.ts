import type { MerchantId } from '../../contract/ids.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { CLAIMED_COLUMNS, type Claimed } from './claim.ts';
import type { Message } from './events.ts';
import { type Lane, lockLanes, releaseAndRecord } from './release.ts';
import { type DeliveryState, NEVER } from './table.ts';

/** What a channel reports after it has accepted a message. Statuses may come late, twice or out of order. */

const RANK: Readonly<Record<DeliveryState, number>> = {
  waiting: 0,
  queued: 0,
  cancelled: 0,
  sending: 1,
  failed: 1,
  sent: 2,
  delivered: 3,
  read: 4,
};
type Reached = 'sent' | 'delivered' | 'read';

export interface ReportedDelivery {
  id: number;
  merchant_id: MerchantId;
  /** The channel of the last attempt. */
  channel_id: string | null;
}

/**
 * A channel's status does not tell the merchant, so on a cluster this and the next one visit every node, by an index. It is
 * a background job that reads it.
 */
export function findByKey(queries: Queries, key: string): Promise<ReportedDelivery | undefined> {
  return queries.one('select id, merchant_id, channel_id from deliveries where key = $1', [key]);
}

/** For statuses that name no key. */
export function findByMessageId(queries: Queries, messageId: string): Promise<ReportedDelivery | undefined> {
  return queries.one('select id, merchant_id, channel_id from deliveries where channel_message_id = $1', [
    messageId,
  ]);
}

export async function findIdsByKeys(
  queries: Queries,
  merchantId: MerchantId,
  keys: readonly string[],
): Promise<number[]> {
  const sql = 'select id from deliveries where merchant_id = $1 and key = $2';
  const rows = await Promise.all(keys.map((key) => queries.one<{ id: number }>(sql, [merchantId, key])));
  return rows.flatMap((row) => (row ? [row.id] : []));
}

/** Moves deliveries forward, never back: an earlier state changes nothing. */
export async function advance(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
  { state, at, messageId }: { state: Reached; at: Date; messageId?: string },
): Promise<void> {
  if (ids.length === 0) return;
  const earlier = (Object.keys(RANK) as DeliveryState[]).filter((name) => RANK[name] < RANK[state]);
  const time = at.toISOString();
  await lockLanes(tx, merchantId);
  // Rows of a table are locked in the order of their ids.
  if (tx.engine === 'postgres' && ids.length > 1) {
    await tx.all(`select id from deliveries where ${ownIdIn(tx, '$1', '$2')} order by id for update`, [
      merchantId,
      ids,
    ]);
  }
  const rows = await tx.run<Message & Lane>(
    `update deliveries set state = $3, channel_message_id = coalesce($4, channel_message_id),
        unsettled_since = null, waiting_for = null, reason = null, updated_at = $5
      where ${ownIdIn(tx, '$1', '$2')}
        and state in (${earlier.map((name) => `'${name}'`).join(', ')})
      returning id, endpoint_id, notification_id, conversation_id, recipient, mode`,
    [merchantId, ids, state, messageId ?? null, time],
  );
  if (rows.length === 0) return;
  await releaseAndRecord(tx, merchantId, {
    lanes: rows,
    events: rows.map(({ id }) => ({ deliveryId: id, at: time, state })),
    messages: rows,
    dueAt: NEVER,
    at,
  });
}

/** Only used within the transaction that settles it. */
const LEASE_MS = 20_000;

/**
 * Claims a delivery whose message failed after it was accepted, to settle it like an attempt. Only the message and the
 * channel of its last attempt count. The message's id may not be known yet: the status may have come before the answer
 * to the send, or that answer was lost.
 */
export async function reopen(
  tx: Transaction,
  { merchant_id: merchantId, id }: ReportedDelivery,
  { messageId, channelId }: { messageId: string; channelId: string },
  at: Date,
): Promise<Claimed | undefined> {
  const lease = new Date(at.getTime() + LEASE_MS);
  // In the lock order: see `Transaction`. Whoever settles it takes this lock.
  await lockLanes(tx, merchantId);
  const [claimed] = await tx.run<Claimed>(
    `update deliveries set state = 'sending', due_at = $4, channel_message_id = null, updated_at = $5
      where merchant_id = $1 and id = $2 and state in ('sending', 'sent')
        and (channel_message_id = $3 or channel_message_id is null) and (channel_id = $6 or channel_id is null)
      returning ${CLAIMED_COLUMNS}`,
    [merchantId, id, messageId, lease.toISOString(), at.toISOString(), channelId],
  );
  return claimed;
}
