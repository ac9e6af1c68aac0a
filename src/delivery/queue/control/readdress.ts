import { recordEvent, type Who } from '../../../audit/record.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Engine, Transaction } from '../../../database/database.ts';
import { ownIdIn } from '../../../database/ids.ts';
import { releaseQuota } from '../quotaUse.ts';
import { lockLanes, releaseAndRecord } from '../release.ts';
import { type DeliveryState, NEVER, NUMBER_FIXED } from '../table.ts';
import { type Countries, putBack, type Retried, sentAgain } from './retry.ts';

/** SQLite locks none. Without the order, and without an index of states, it finds them by their conversation. */
const LOCKED: Readonly<Record<Engine, string>> = { sqlite: '', postgres: 'order by id for update' };

/**
 * Sends a failed or cancelled delivery again, to another number (as E.164), and addresses what else the conversation has
 * for the wrong number to the new one: what waits is sent there, what failed can be. What is being sent or was sent
 * stays as it is. False if the delivery has changed.
 */
export async function readdress(
  tx: Transaction,
  merchantId: MerchantId,
  { id, state, recipient: from }: Retried,
  { conversationId, phone }: { conversationId: number; phone: string },
  by: Who,
  at: Date,
): Promise<boolean> {
  const time = at.toISOString();
  await lockLanes(tx, merchantId);
  const locked = await tx.all<{ id: number; state: DeliveryState }>(
    `select id, state from deliveries
      where merchant_id = $1 and endpoint_id = 0 and conversation_id = $2 and recipient = $3
        and coalesce(state, '') in ('queued', 'waiting', 'failed', 'cancelled')
      ${LOCKED[tx.engine]}`,
    [merchantId, conversationId, from],
  );
  const others = locked.filter((one) => one.id !== id && one.state !== 'cancelled');
  const { queued } = await putBack(
    tx,
    merchantId,
    [{ id, state, recipient: from, to: phone }],
    NO_COUNTRY,
    at,
  );
  if (queued.length === 0) return false;
  await tx.run(
    `update deliveries set recipient = $3, updated_at = $4,
        due_at = case when due_at = '${NEVER}' or state = 'waiting' then $4 else due_at end,
        last_code = case when state = 'failed' then '${NUMBER_FIXED}' else last_code end,
        reason = case when state = 'failed' then 'The number was fixed. Send the message again.' else reason end
      where ${ownIdIn(tx, '$1', '$2')}`,
    [merchantId, others.map((other) => other.id), phone, time],
  );
  const open = others.filter((other) => other.state !== 'failed');
  await releaseQuota(
    tx,
    merchantId,
    open.map((other) => other.id),
    at,
  );
  await releaseAndRecord(tx, merchantId, {
    lanes: (['reply', 'campaign'] as const).map((mode) => ({ recipient: from, mode })),
    events: [
      ...sentAgain(queued, time),
      ...open.map(({ id: deliveryId, state: kept }) => ({
        ...{ deliveryId, at: time, state: kept, note: 'The number was fixed.' },
      })),
    ],
    dueAt: time,
    at,
  });
  await recordEvent(tx, { what: 'delivery.retried', merchantId, who: by, at, about: { delivery_id: id } });
  return true;
}

const NO_COUNTRY: Countries = { country: undefined, defaultCountry: undefined };
