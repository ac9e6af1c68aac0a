import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { firstOfLane, NEVER, OPEN, queueStep, REST_MAX_MS, valueRows } from './table.ts';

/** Makes messages due that waited for something else than time. */

/** The messages to one customer of one kind: they are sent in the order in which they were written. */
export interface Lane {
  recipient: string;
  mode: 'reply' | 'campaign';
}

/**
 * The first message of these lanes is no longer blocked. This must be a statement of its own, after the one that
 * finished the message before: only then it sees one that was blocked meanwhile. Says whether one is due now; the caller
 * makes the queue due.
 */
export async function releaseNext(
  tx: Queries,
  merchantId: MerchantId,
  lanes: readonly Lane[],
  at: Date,
): Promise<boolean> {
  const due = await tx.run(
    `with lane (customer, kind) as (values ${valueRows(lanes.length, [undefined, undefined], 2)})
      update deliveries set due_at = case when due_at = '${NEVER}' then $2 else due_at end
        where merchant_id = $1 and state in ${OPEN} and (due_at = '${NEVER}' or due_at <= $2)
          and id in (select ${firstOfLane[tx.engine]('customer', 'kind')} from lane)
      returning id`,
    [merchantId, at.toISOString(), ...lanes.flatMap(({ recipient, mode }) => [recipient, mode])],
  );
  return due.length > 0;
}

/** Who has messages that wait until this customer writes, or for the daily limit, which a reply then needs no more. */
export async function merchantsWaitingFor(queries: Queries, phone: string): Promise<MerchantId[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    `select distinct merchant_id from deliveries where state = 'waiting' and recipient = $1`,
    [phone],
  );
  return rows.map(({ merchant_id }) => merchant_id);
}

/** The customer has written: what waited for that is due. */
export async function releaseWaitingFor(
  tx: Queries,
  merchantId: MerchantId,
  phone: string,
  at: Date,
): Promise<void> {
  const rows = await tx.run(
    `update deliveries set due_at = $3 where merchant_id = $1 and recipient = $2 and state = 'waiting'
        and (waiting_for = 'customer' or mode = 'reply')
      returning id`,
    [merchantId, phone, at.toISOString()],
  );
  if (rows.length > 0) await tx.chain([queueStep(merchantId, at.toISOString())]);
}

/** The settings have changed: what waited by the old ones is looked at again. */
export async function lookAgain(
  tx: Queries,
  merchantId: MerchantId,
  waitingFor: 'limit' | 'customer',
  at: Date,
): Promise<void> {
  await tx.run(
    `update deliveries set due_at = $3
      where merchant_id = $1 and state = 'waiting' and waiting_for = $2 and due_at > $3 returning id`,
    [merchantId, waitingFor, at.toISOString()],
  );
  await tx.chain([queueStep(merchantId, at.toISOString())]);
}

/** Queues that rest until a channel is used again are looked at at this time, one merchant after another. */
export async function wakeQueues(tx: Queries, restingUntil: readonly string[], at: Date): Promise<void> {
  for (const until of restingUntil) {
    const rows = await tx.all<{ merchant_id: MerchantId }>(
      'select merchant_id from delivery_queues where due_at = $1 order by merchant_id',
      [until],
    );
    for (const { merchant_id } of rows) await tx.chain([queueStep(merchant_id, at.toISOString())]);
  }
}

/** Every queue that may rest for a channel is looked at now. A look too many does no harm. */
export async function wakeRestingQueues(tx: Queries, at: Date): Promise<void> {
  const rows = await tx.all<{ merchant_id: MerchantId }>(
    'select merchant_id from delivery_queues where due_at > $1 and due_at <= $2 order by merchant_id',
    [at.toISOString(), new Date(at.getTime() + REST_MAX_MS).toISOString()],
  );
  for (const { merchant_id } of rows) await tx.chain([queueStep(merchant_id, at.toISOString())]);
}
