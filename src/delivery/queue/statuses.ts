import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { addEvent, type DeliveryState } from './enqueue.ts';

/** What a channel reports after it took a message. Reports come late, twice and out of order. */

const RANK: Readonly<Record<DeliveryState, number>> = {
  waiting: 0,
  queued: 0,
  sending: 1,
  failed: 1,
  sent: 2,
  delivered: 3,
  read: 4,
};

export interface DeliveryRow {
  id: number;
  merchant_id: MerchantId;
  state: DeliveryState;
  attempts: number;
  channel_message_id: string | null;
}

export function findByKey(queries: Queries, key: string): Promise<DeliveryRow | undefined> {
  return queries.one<DeliveryRow>(
    'select id, merchant_id, state, attempts, channel_message_id from deliveries where key = $1',
    [key],
  );
}

/** For statuses that name no key. */
export function findByMessageId(queries: Queries, messageId: string): Promise<DeliveryRow | undefined> {
  return queries.one<DeliveryRow>(
    'select id, merchant_id, state, attempts, channel_message_id from deliveries where channel_message_id = $1',
    [messageId],
  );
}

/** Moves a delivery forward, never back: a state already passed changes nothing. */
export async function advance(
  tx: Queries,
  delivery: Pick<DeliveryRow, 'id' | 'merchant_id'>,
  state: 'sent' | 'delivered' | 'read',
  at: Date,
  messageId?: string,
): Promise<boolean> {
  const earlier = (Object.keys(RANK) as DeliveryState[]).filter((name) => RANK[name] < RANK[state]);
  const rows = await tx.run(
    `update deliveries set state = $3, channel_message_id = coalesce($4, channel_message_id),
        unsettled_since = null, taken_over = 0, waiting_for = null, reason = null, updated_at = $5
      where merchant_id = $1 and id = $2 and state in (${earlier.map((name) => `'${name}'`).join(', ')})
      returning id`,
    [delivery.merchant_id, delivery.id, state, messageId ?? null, at.toISOString()],
  );
  if (rows.length === 0) return false;
  await addEvent(tx, delivery.merchant_id, delivery.id, { at: at.toISOString(), state });
  return true;
}
