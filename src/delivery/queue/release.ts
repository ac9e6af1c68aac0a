import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries, Transaction } from '../../database/database.ts';
import { type DeliveryEvent, type Message, recordEvents } from './events.ts';
import { firstOfLane, MESSAGES, makeQueueDue, NEVER, OPEN, type Queue } from './table.ts';

/** Makes messages due that waited for something other than a time. */

/** The messages to one customer of one kind: they are sent in the order in which they were written. */
export interface Lane {
  recipient: string;
  mode: 'reply' | 'campaign';
}

interface Finished {
  /** All of them are in this queue of the merchant. */
  endpointId?: number;
  /** The lanes of the messages that are finished now. */
  lanes: readonly Lane[];
  events: readonly DeliveryEvent[];
  /** The messages of those events that a merchant's programs hear of. */
  messages?: readonly Message[];
  /** When the queue is due at the latest. */
  dueAt: string;
  at: Date;
}

/** Releases the next messages, records what happened, and makes the queue due. */
export async function releaseAndRecord(
  tx: Queries,
  merchantId: MerchantId,
  { endpointId = MESSAGES, lanes, events, messages = [], dueAt, at }: Finished,
): Promise<void> {
  const time = at.toISOString();
  if (events.length > 0) await recordEvents(tx, merchantId, messages, events);
  const released = await Promise.all(lanes.map((lane) => releaseLane(tx, merchantId, lane, time)));
  await makeQueueDue(tx, merchantId, released.includes(true) ? time : dueAt, endpointId);
}

/**
 * Unblocks the first message of a lane. This must be a separate statement, after the one that finished the previous
 * message and took the merchant's lane lock: only then does it see what others have finished or blocked.
 */
async function releaseLane(
  tx: Queries,
  merchantId: MerchantId,
  { recipient, mode }: Lane,
  time: string,
): Promise<boolean> {
  const first = firstOfLane[tx.engine]('$1', 'cast($2 as text)', 'cast($3 as text)');
  const rows = await tx.run(
    `update deliveries set due_at = case when due_at = '${NEVER}' then $4 else due_at end
      where merchant_id = $1 and id = ${first} and state in ${OPEN} and (due_at = '${NEVER}' or due_at <= $4)
      returning id`,
    [merchantId, recipient, mode, time],
  );
  return rows.length > 0;
}

/** Take this lock before a transaction finishes messages of a merchant: see `releaseLane`. */
export const lockLanes = (tx: Transaction, merchantId: MerchantId) => tx.lock(`lanes ${merchantId}`);

/** Merchants with messages that wait for this customer to write, or for quota, which a reply then no longer needs. */
export async function merchantsWaitingFor(queries: Queries, phone: string): Promise<MerchantId[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    `select distinct merchant_id from deliveries where state = 'waiting' and recipient = $1 order by merchant_id`,
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
  if (rows.length > 0) await makeQueueDue(tx, merchantId, at.toISOString());
}

const LOOK_AGAIN_BATCH = 1000;

/** The settings have changed, so waiting messages are checked again. Returns whether there are more of them. */
export async function lookAgain(
  tx: Queries,
  merchantId: MerchantId,
  waitingFor: 'limit' | 'customer',
  at: Date,
): Promise<boolean> {
  const rows = await tx.run(
    `update deliveries set due_at = $3 where merchant_id = $1 and id in (
        select id from deliveries where merchant_id = $1 and state = 'waiting' and waiting_for = $2 and due_at > $3
          order by id limit ${LOOK_AGAIN_BATCH})
      returning id`,
    [merchantId, waitingFor, at.toISOString()],
  );
  await makeQueueDue(tx, merchantId, at.toISOString());
  return rows.length === LOOK_AGAIN_BATCH;
}

/** Checks all the others again, with one transaction per batch. */
export async function lookAgainAtAll(
  database: Database,
  merchantId: MerchantId,
  waitingFor: 'limit' | 'customer',
  at: Date,
): Promise<void> {
  while (await database.transaction((tx) => lookAgain(tx, merchantId, waitingFor, at)));
}

/** Makes the queues due that rest until one of these times, one after another. */
export async function wakeQueues(tx: Queries, restingUntil: readonly string[], at: Date): Promise<void> {
  for (const until of restingUntil) {
    const queues = await tx.all<Queue>(
      `select merchant_id, endpoint_id from delivery_queues where due_at = $1 order by merchant_id, endpoint_id`,
      [until],
    );
    await wakeAll(tx, queues, at);
  }
}

/** Makes every resting queue due, for any channel: an unnecessary look does no harm. */
export async function wakeRestingQueues(tx: Queries, at: Date): Promise<void> {
  const queues = await tx.all<Queue>(
    `select merchant_id, endpoint_id from delivery_queues where due_at > $1 and due_at < $2
      order by merchant_id, endpoint_id`,
    [at.toISOString(), NEVER],
  );
  await wakeAll(tx, queues, at);
}

export async function wakeAll(tx: Queries, queues: readonly Queue[], at: Date): Promise<void> {
  for (const { merchant_id, endpoint_id } of queues)
    await makeQueueDue(tx, merchant_id, at.toISOString(), endpoint_id);
}
