import { randomUUID } from 'node:crypto';
import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Engine, Queries } from '../../database/database.ts';
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
 * Nothing is sent to a customer who is being erased. `row` has a `conversation_id`. This is checked when
 * a message is written, put back and claimed: whoever began before the erasure may write one afterwards.
 */
export const isNotErased = (row: string, merchantId: string) => `not exists (select 1 from conversations c
    where c.merchant_id = ${merchantId} and c.id = ${row}.conversation_id and c.erased_at is not null)`;

/** The longest rest of a queue. If a race leaves a queue resting, it continues after this time. */
export const REST_MAX_MS = 5 * 60_000;

/**
 * Records that the deliveries of a queue have changed, and makes it due at `dueAt` unless it is due earlier. Locks its
 * row, so it comes last.
 */
export const makeQueueDue = (
  tx: Queries,
  merchantId: MerchantId,
  dueAt: string,
  endpointId = MESSAGES,
): Promise<void> =>
  tx.write(
    `insert into delivery_queues (merchant_id, endpoint_id, due_at, version) values ($1, $2, $3, $4)
      on conflict (merchant_id, endpoint_id) do update set version = excluded.version,
        due_at = case when delivery_queues.due_at < excluded.due_at then delivery_queues.due_at else excluded.due_at end`,
    // `randomBytes` takes 10 µs, this less than one.
    [merchantId, endpointId, dueAt, randomUUID()],
  );
