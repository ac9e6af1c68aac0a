import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { OPEN } from './table.ts';

/** Which deliveries in the queue use the daily quota. */

const DAY_MS = 24 * 60 * 60_000;

/** From now on this delivery counts as one that waits for quota. */
export async function markQuotaUser(queries: Queries, merchantId: MerchantId, id: number): Promise<void> {
  await queries.run(
    'update deliveries set uses_quota = 1 where merchant_id = $1 and id = $2 and uses_quota = 0 returning id',
    [merchantId, id],
  );
}

/** Counts the customers of the first `max` earlier deliveries that need quota, without those reached since then. */
export async function customersAhead(
  queries: Queries,
  merchantId: MerchantId,
  beforeId: number,
  reachedSince: string,
  max: number,
): Promise<number> {
  const row = await queries.one<{ ahead: number }>(
    `select count(distinct recipient) as ahead from (select d.recipient from deliveries d
      where d.merchant_id = $1 and d.id < $2 and d.uses_quota = 1 and d.state in ${OPEN}
        and coalesce((select r.reached_at from reached_customers r where r.merchant_id = $1
          and r.recipient = d.recipient), '') <= $3
      order by d.id limit $4) first_ones`,
    [merchantId, beforeId, reachedSince, max],
  );
  return row?.ahead ?? 0;
}

/**
 * A message that was never sent reached nobody: its quota is free again, unless another message reached the customer.
 * Returns whether a message that waited for quota is due now.
 */
export async function releaseQuota(
  tx: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  at: Date,
): Promise<boolean> {
  const dayBefore = new Date(at.getTime() - DAY_MS).toISOString();
  // Most have none: one look for all of them.
  const users = await tx.all<{ key: string }>(
    `select key from deliveries where ${ownIdIn(tx, '$1', '$2')}
      and exists (select 1 from reached_customers r where r.merchant_id = $1 and r.delivery_key = deliveries.key)
      order by id`,
    [merchantId, ids],
  );
  let released = false;
  for (const { key } of users) {
    const freed = await tx.run(
      `delete from reached_customers where merchant_id = $1 and delivery_key = $2 and not exists (
        select 1 from deliveries d where d.merchant_id = $1 and d.recipient = reached_customers.recipient
          and d.key <> $2 and d.uses_quota = 1 and d.state in ('sending', 'sent', 'delivered', 'read')
          and d.updated_at > $3) returning recipient`,
      [merchantId, key, dayBefore],
    );
    if (freed.length > 0) released = (await releaseFirstWaiting(tx, merchantId, at)) || released;
  }
  return released;
}

/** Quota has become free: the message that has waited longest for it is due. */
async function releaseFirstWaiting(tx: Queries, merchantId: MerchantId, at: Date): Promise<boolean> {
  const rows = await tx.run(
    `update deliveries set due_at = $2 where merchant_id = $1 and state = 'waiting' and waiting_for = 'limit' and id = (
        select min(id) from deliveries where merchant_id = $1 and state = 'waiting' and waiting_for = 'limit'
          and uses_quota = 1 and due_at > $2)
      returning id`,
    [merchantId, at.toISOString()],
  );
  return rows.length > 0;
}
