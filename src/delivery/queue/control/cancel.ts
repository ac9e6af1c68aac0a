import { recordEvent, type Who } from '../../../audit/record.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Transaction } from '../../../database/database.ts';
import { ownIdIn } from '../../../database/ids.ts';
import { releaseQuota } from '../quotaUse.ts';
import { type Lane, lockLanes, releaseAndRecord } from '../release.ts';
import { type DeliveryState, NEVER, NO_NOTIFICATION, TAKEN_BACK } from '../table.ts';

/** Cancels one delivery that has not been sent. */
export async function cancelDelivery(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  by: Who,
  at: Date,
): Promise<'cancelled' | 'not_found' | 'not_cancellable'> {
  const row = await tx.one(
    'select id from deliveries where merchant_id = $1 and endpoint_id = 0 and id = $2',
    [merchantId, id],
  );
  if (!row) return 'not_found';
  if ((await cancel(tx, merchantId, [id], at)) === 0) return 'not_cancellable';
  await recordEvent(tx, { what: 'delivery.cancelled', merchantId, who: by, at, about: { delivery_id: id } });
  return 'cancelled';
}

/**
 * Takes back a message that somebody wrote without a notification. Nobody sees it then. Only before a worker has claimed
 * it: afterwards nobody knows in time whether it was sent.
 */
export async function takeBack(
  tx: Transaction,
  merchantId: MerchantId,
  { id, conversationId }: { id: number; conversationId: number },
  by: Who,
  at: Date,
): Promise<'taken_back' | 'not_found' | 'too_late'> {
  const row = await tx.one<{ state: DeliveryState }>(
    `select state from deliveries
      where merchant_id = $1 and endpoint_id = 0 and id = $2 and conversation_id = $3 and notification_id = ${NO_NOTIFICATION}`,
    [merchantId, id, conversationId],
  );
  if (!row) return 'not_found';
  if (!['queued', 'waiting'].includes(row.state)) return 'too_late';
  if ((await cancel(tx, merchantId, [id], at, TAKEN_BACK)) === 0) return 'too_late';
  await recordEvent(tx, { what: 'delivery.cancelled', merchantId, who: by, at, about: { delivery_id: id } });
  return 'taken_back';
}

/** A message that is being sent cannot be cancelled. */
export async function cancel(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
  at: Date,
  code?: typeof TAKEN_BACK,
): Promise<number> {
  const time = at.toISOString();
  await lockLanes(tx, merchantId);
  const rows = await tx.run<Lane & { id: number }>(
    `update deliveries set state = 'cancelled', due_at = $3, waiting_for = null, reason = null, updated_at = $3,
        last_code = coalesce($4, last_code)
      where ${ownIdIn(tx, '$1', '$2')} and state in ('queued', 'waiting', 'failed')
      returning id, recipient, mode`,
    [merchantId, ids, time, code ?? null],
  );
  if (rows.length === 0) return 0;
  const quotaFree = await releaseQuota(
    tx,
    merchantId,
    rows.map(({ id }) => id),
    at,
  );
  await releaseAndRecord(tx, merchantId, {
    lanes: rows,
    events: rows.map(({ id }) => ({ deliveryId: id, at: time, state: 'cancelled' })),
    dueAt: quotaFree ? time : NEVER,
    at,
  });
  return rows.length;
}
