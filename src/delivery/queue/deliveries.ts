import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { addEvent, type DeliveryState } from './enqueue.ts';

/** What the merchant sees of its deliveries. */

const COLUMNS = `id, notification_id, conversation_id, recipient, mode, content, state, waiting_for,
  coalesce(reason, case when state = 'queued' and exists (
    select 1 from deliveries e where e.merchant_id = deliveries.merchant_id and e.recipient = deliveries.recipient
      and e.id < deliveries.id and e.state in ('queued', 'sending', 'waiting'))
    then 'It goes out after an earlier message to the same customer.' end) as reason, attempts, case when state = 'queued' or waiting_for = 'limit' then due_at end as next_try_at,
  last_code as last_error, created_at, updated_at`;

export function listDeliveries(
  queries: Queries,
  merchantId: MerchantId,
  {
    state,
    beforeId,
    limit,
  }: { state: DeliveryState | undefined; beforeId: number | undefined; limit: number },
): Promise<Delivery[]> {
  const params: (string | number)[] = [merchantId];
  const bind = (value: string | number) => `$${params.push(value)}`;
  return queries.all<Delivery>(
    `select ${COLUMNS} from deliveries where merchant_id = $1
      ${state === undefined ? '' : `and state = ${bind(state)}`}
      ${beforeId === undefined ? '' : `and id < ${bind(beforeId)}`}
      order by id desc limit ${bind(limit)}`,
    params,
  );
}

export function findDelivery(queries: Queries, merchantId: MerchantId, id: number) {
  return queries.one<Delivery>(`select ${COLUMNS} from deliveries where merchant_id = $1 and id = $2`, [
    merchantId,
    id,
  ]);
}

interface TimelineEntry {
  at: string;
  state: DeliveryState;
  code: string | null;
  note: string | null;
}

export function timelineOf(queries: Queries, merchantId: MerchantId, id: number): Promise<TimelineEntry[]> {
  return queries.all<TimelineEntry>(
    `select at, state, code, note from delivery_events where merchant_id = $1 and delivery_id = $2 order by id`,
    [merchantId, id],
  );
}

/** Puts a failed delivery back into the queue, with all its attempts before it. */
export async function retryDelivery(
  tx: Queries,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<boolean> {
  const time = at.toISOString();
  const rows = await tx.run(
    `update deliveries set state = 'queued', attempts = 0, due_at = $3, reason = null, waiting_for = null,
        channel_message_id = null, updated_at = $3
      where merchant_id = $1 and id = $2 and state = 'failed' returning id`,
    [merchantId, id, time],
  );
  if (rows.length === 0) return false;
  await addEvent(tx, merchantId, id, { at: time, state: 'queued', note: 'Tried again by the merchant.' });
  return true;
}

/** For the operator: what is still to be sent, of all merchants, and since when it waits for nothing but us. */
export async function queueFigures(
  queries: Queries,
  at: Date,
): Promise<{ open: number; oldestSeconds: number }> {
  const row = await queries.one<{ open: number; oldest: string | null }>(
    `select count(*) as open, min(case when state <> 'waiting' then created_at end) as oldest
      from deliveries where state in ('queued', 'sending', 'waiting')`,
  );
  const oldest = row?.oldest == null ? at.getTime() : Date.parse(row.oldest);
  return { open: row?.open ?? 0, oldestSeconds: (at.getTime() - oldest) / 1000 };
}
