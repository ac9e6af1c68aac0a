import { randomBytes } from 'node:crypto';
import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Engine } from '../../database/database.ts';
import { storableText } from '../../database/text.ts';

/** What every statement on `deliveries` and `delivery_queues` shares. */

export type DeliveryState = Delivery['state'];

/** Not finished yet. As literals, so that the statements can use the partial indexes. */
export const OPEN = `('queued', 'sending', 'waiting')`;

/**
 * A merchant has a queue for its messages to customers, and one for each of its webhook endpoints and for each device of
 * its people. They share nothing:
 * an endpoint that does not answer delays neither the customers' messages nor other endpoints.
 */
export interface Queue {
  merchant_id: MerchantId;
  /** `MESSAGES`, a webhook endpoint, or `PUSH_QUEUES` plus somebody's device. */
  endpoint_id: number;
}

/** The queue of the messages to customers. */
export const MESSAGES = 0;
/** Devices that get alerts begin here. No webhook endpoint has such an id. */
export const PUSH_QUEUES = 2 ** 40;

/** The notification of a message that somebody wrote without a question. Callers see null. */
export const NO_NOTIFICATION = 0;
export const notificationIdOf = (row = '') => `nullif(${row}notification_id, ${NO_NOTIFICATION})`;

/** The id of an endpoint's channel starts with this. */
export const ENDPOINT = 'webhook_endpoint';

/** A channel's text. If PostgreSQL refused to store it, the message would be sent again and again. */
export const textOrNull = (text: string | undefined) => (text === undefined ? null : storableText(text));

/** The `due_at` of a message that does not wait for a time, but for the customer or for an earlier message. */
export const NEVER = '9999-12-31T00:00:00.000Z';

/**
 * The first open message of a lane, as a sub-select. On PostgreSQL without `min(id)`, which may read all of the
 * merchant's deliveries by id. The order below fits only one index, which finds the row directly.
 */
export const firstOfLane: Record<Engine, (merchant: string, recipient: string, mode: string) => string> = {
  sqlite: (merchant, recipient, mode) =>
    `(select min(f.id) from deliveries f
      where f.merchant_id = ${merchant} and f.recipient = ${recipient} and f.mode = ${mode} and f.state in ${OPEN})`,
  postgres: (merchant, recipient, mode) =>
    `(select case when f.recipient = ${recipient} and f.mode = ${mode} then f.id end from deliveries f
      where f.merchant_id = ${merchant} and (f.recipient, f.mode, f.id) >= (${recipient}, ${mode}, 0) and f.state in ${OPEN}
      order by f.recipient, f.mode, f.id limit 1)`,
};

/** The code of a message that its author took back before it was sent. */
export const TAKEN_BACK = 'TAKEN_BACK';
export const NOT_TAKEN_BACK = `(last_code is null or last_code <> '${TAKEN_BACK}')`;

/** The code of a failed message whose number was fixed since. It has not been sent to the new one. */
export const NUMBER_FIXED = 'NUMBER_FIXED';

/**
 * Nothing is sent to a customer who is being erased. `row` has `merchant_id` and `conversation_id`. This is checked when
 * a message is written, put back and claimed: whoever began before the erasure may write one afterwards.
 */
export const isNotErased = (row: string) => `not exists (select 1 from conversations c
    where c.merchant_id = ${row}.merchant_id and c.id = ${row}.conversation_id and c.erased_at is not null)`;

/** The longest rest of a queue. If a race leaves a queue resting, it continues after this time. */
export const REST_MAX_MS = 5 * 60_000;

/**
 * Records that the deliveries of a queue have changed, and makes it due at `dueAt` unless it is due earlier. With
 * `nowIfAny` it is due at `at` if that step of the same chain returned a row. Locks the version row, so it comes last.
 */
export const queueStep = (
  merchantId: MerchantId,
  dueAt: string,
  {
    endpointId = MESSAGES,
    nowIfAny,
    at = dueAt,
  }: { endpointId?: number; nowIfAny?: string; at?: string } = {},
): Step => ({
  name: 'queue',
  rows: {
    columns: { merchant_id: 'bigint', endpoint_id: 'bigint', due_at: 'text', at: 'text', version: 'text' },
    values: [{ merchant_id: merchantId, endpoint_id: endpointId, due_at: dueAt, at, version: newVersion() }],
  },
  sql: `insert into delivery_queues (merchant_id, endpoint_id, due_at, version)
    select merchant_id, endpoint_id, ${nowIfAny ? `case when exists (select 1 from ${nowIfAny}) then at else due_at end` : 'due_at'}, version
    from queue_rows where true ${ON_QUEUE_CONFLICT}`,
});

/** Must follow a condition: without one, SQLite reads `on` as part of a join. */
const ON_QUEUE_CONFLICT = `on conflict (merchant_id, endpoint_id) do update set version = excluded.version,
    due_at = case when delivery_queues.due_at < excluded.due_at then delivery_queues.due_at else excluded.due_at end
  returning merchant_id`;

const newVersion = () => randomBytes(12).toString('hex');

/** What every step `delivery` is `returning`, for the steps after it. */
export const NEW_DELIVERY = `id, merchant_id, endpoint_id, notification_id, conversation_id, key, state, reason,
  last_code, due_at, created_at`;

/**
 * The same for all deliveries that the step `delivery` has inserted. A key is random and never used again, so it is the
 * version.
 */
export const newDeliveriesQueueStep: Step = {
  name: 'queue',
  sql: `insert into delivery_queues (merchant_id, endpoint_id, due_at, version)
    select merchant_id, endpoint_id, min(due_at), max(key) from delivery where true
      group by merchant_id, endpoint_id order by merchant_id, endpoint_id
    ${ON_QUEUE_CONFLICT}`,
};
