import type { MerchantId } from '../../contract/ids.ts';
import { type ChangeShape, defineChange } from '../../database/chain.ts';
import type { Database, Engine, Queries, Transaction } from '../../database/database.ts';
import { type DeliveryEvent, type Message, recordSteps } from './events.ts';
import { firstOfLane, MESSAGES, NEVER, OPEN, QUEUE_AFTER_RELEASE, type Queue, queueStep } from './table.ts';

/** Makes messages due that waited for something other than a time. */

/** The messages to one customer of one kind: they are sent in the order in which they were written. */
export interface Lane {
  recipient: string;
  mode: 'reply' | 'campaign';
}

/**
 * Unblocks the first message of these lanes. This must be a separate statement, after the one that finished the
 * previous message and took the merchant's lane lock: only then does it see what others have finished or blocked.
 */
const released = (engine: Engine) =>
  defineChange({
    do: 'update',
    table: 'deliveries',
    columns: { merchant_id: 'bigint', recipient: 'text', mode: 'text', at: 'text' },
    set: `due_at = case when deliveries.due_at = '${NEVER}' then r.at else deliveries.due_at end`,
    where: `deliveries.id = ${firstOfLane[engine]('r.merchant_id', 'r.recipient', 'r.mode')}
      and deliveries.state in ${OPEN} and (deliveries.due_at = '${NEVER}' or deliveries.due_at <= r.at)`,
  });
const RELEASED: Record<Engine, ChangeShape> = { sqlite: released('sqlite'), postgres: released('postgres') };

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
  const record = events.length > 0 ? recordSteps(merchantId, messages, events) : [];
  const queue = queueStep(merchantId, dueAt, { endpointId });
  const steps =
    lanes.length > 0
      ? [
          {
            shape: RELEASED[tx.engine],
            values: lanes.map(({ recipient, mode }) => ({
              merchant_id: merchantId,
              recipient,
              mode,
              at: time,
            })),
          },
          { ...queue, shape: QUEUE_AFTER_RELEASE, ifChanged: time },
        ]
      : [queue];
  await tx.chain({ steps: [...record, ...steps] });
}

/** Take this lock before a transaction finishes messages of a merchant: see `released`. */
export const lockLanes = (tx: Transaction, merchantId: MerchantId) => tx.lock(lanesOf(merchantId));
export const lanesOf = (merchantId: MerchantId) => `lanes ${merchantId}`;

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
  if (rows.length > 0) await tx.chain({ steps: [queueStep(merchantId, at.toISOString())] });
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
  await tx.chain({ steps: [queueStep(merchantId, at.toISOString())] });
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
  for (const { merchant_id, endpoint_id: endpointId } of queues) {
    await tx.chain({ steps: [queueStep(merchant_id, at.toISOString(), { endpointId })] });
  }
}
