import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { UNDO_MAX_SECONDS } from '../../contract/timeline.ts';
import type { Engine, Queries } from '../../database/database.ts';
import { inSelect } from '../../database/ids.ts';
import { readOfMerchants } from '../../database/ofMerchants.ts';
import { type DeliveryState, NEVER, NOT_TAKEN_BACK, notificationIdOf, OPEN } from './table.ts';

/** What the merchant sees of its messages to customers. Events for webhook endpoints are not among them. */

/** Its queue rests while its channel is stopped or does not answer. `$2` is the time now. */
const RESTS_UNTIL = `(select q.due_at from delivery_queues q
  where q.merchant_id = $1 and q.endpoint_id = 0 and q.due_at > $2 and deliveries.due_at <= $2 and deliveries.state = 'queued')`;

const COLUMNS = `id, ${notificationIdOf()} as notification_id, conversation_id, recipient, mode, content, state, waiting_for,
  coalesce(reason, case when state = 'queued' and due_at = '${NEVER}'
      then 'It will be sent after an earlier message to the same customer.' end,
    case when ${RESTS_UNTIL} is not null
      then 'The channel is stopped or does not answer. It will be sent as soon as the channel works again.' end
  ) as reason, attempts,
  case when (state = 'queued' or waiting_for = 'limit') and coalesce(${RESTS_UNTIL}, due_at) < '9999'
    then coalesce(${RESTS_UNTIL}, due_at) end as next_try_at,
  last_code as last_error, created_at, updated_at`;

interface ListFilter {
  state: DeliveryState | undefined;
  beforeId: number | undefined;
  limit: number;
  at: Date;
}

export function listDeliveries(
  queries: Queries,
  merchantId: MerchantId,
  { state, beforeId, limit, at }: ListFilter,
): Promise<Delivery[]> {
  const params: (string | number)[] = [merchantId, at.toISOString()];
  const bind = (value: string | number) => `$${params.push(value)}`;
  return queries.all<Delivery>(
    `select ${COLUMNS} from deliveries where merchant_id = $1 and endpoint_id = 0
      ${state === undefined ? '' : `and state = ${bind(state)}`}
      ${beforeId === undefined ? '' : `and id < ${bind(beforeId)}`}
      order by id desc limit ${bind(limit)}`,
    params,
  );
}

export function findDelivery(queries: Queries, merchantId: MerchantId, id: number, at: Date) {
  return queries.one<Delivery>(
    `select ${COLUMNS} from deliveries where merchant_id = $1 and endpoint_id = 0 and id = $3`,
    [merchantId, at.toISOString(), id],
  );
}

export interface SentMessage
  extends Pick<Delivery, 'id' | 'notification_id' | 'content' | 'state' | 'created_at'> {
  channel_message_id: string | null;
  attempts: number;
  due_at: string;
}

/** Whether somebody has written it without a question, and can still take it back. */
export const canBeTakenBack = (
  { notification_id, state, attempts, due_at, created_at }: SentMessage,
  now: Date,
): boolean =>
  notification_id === null &&
  state === 'queued' &&
  attempts === 0 &&
  due_at > now.toISOString() &&
  Date.parse(due_at) <= Date.parse(created_at) + UNDO_MAX_SECONDS * 1000;

/** The messages to the customer of a conversation, oldest first. Those that were taken back are not among them. */
export function listSentIn(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  { after, limit }: { after: { at: string; id: number }; limit: number },
): Promise<SentMessage[]> {
  return queries.all<SentMessage>(
    `select id, ${notificationIdOf()} as notification_id, content, state, created_at, channel_message_id, attempts,
        due_at from deliveries
      where merchant_id = $1 and endpoint_id = 0 and conversation_id = $2 and (created_at, id) > ($3, $4)
        and ${NOT_TAKEN_BACK}
      order by created_at, id limit $5`,
    [merchantId, conversationId, after.at, after.id, limit],
  );
}

export interface SentTurn extends SentMessage {
  last_code: string | null;
  reason: string | null;
  updated_at: string;
  sent_by: string | null;
  reply_to: number | null;
}

/** The last ones before a time, newest first. */
export function listSentBefore(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  { before, limit }: { before: { at: string; id: number }; limit: number },
): Promise<SentTurn[]> {
  return queries.all<SentTurn>(
    `select id, ${notificationIdOf()} as notification_id, content, state, created_at, channel_message_id, reason,
        last_code, attempts, due_at, updated_at, sent_by, reply_to from deliveries
      where merchant_id = $1 and endpoint_id = 0 and conversation_id = $2 and (created_at, id) < ($3, $4)
        and ${NOT_TAKEN_BACK}
      order by created_at desc, id desc limit $5`,
    [merchantId, conversationId, before.at, before.id, limit],
  );
}

const TEXTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($3)',
  postgres: 'select json_array_elements_text(cast($3 as json))',
};

/** Which of these ids of the channel are ids of messages that Deskbell sent in this conversation. */
export async function findSentIds(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  messageIds: readonly string[],
): Promise<string[]> {
  if (messageIds.length === 0) return [];
  // SQLite would read all of the merchant's deliveries. A plus keeps it from using that column's indexes.
  const merchant = queries.engine === 'sqlite' ? '+merchant_id' : 'merchant_id';
  const rows = await queries.all<{ channel_message_id: string }>(
    `select channel_message_id from deliveries
      where ${merchant} = $1 and conversation_id = $2
        and ${inSelect(queries.engine, 'channel_message_id', TEXTS[queries.engine])}`,
    [merchantId, conversationId, JSON.stringify(messageIds)],
  );
  return rows.map(({ channel_message_id }) => channel_message_id);
}

/** The delivery of a notification as JSON text, or null: a sub-select for the notification's own statement. */
export const deliveryWire = (merchantId: string, notificationId: string) =>
  `(select concat('{"id":', d.id, ',"state":"', d.state, '","updated_at":"', d.updated_at, '"}')
    from deliveries d where d.merchant_id = ${merchantId} and d.notification_id = ${notificationId}
    order by d.id desc limit 1)`;

/** A sub-select for the notification's own statement: 1 if a message has its answer, or null. */
export const isSent = (merchantId: string, notificationId: string) =>
  `(select 1 from deliveries d where d.merchant_id = ${merchantId} and d.notification_id = ${notificationId} limit 1)`;

/** The condition that a message of this notification is queued, waits or is being sent. */
export const isBeingSent = (merchantId: string, notificationId: string) =>
  `exists (select 1 from deliveries d where d.merchant_id = ${merchantId} and d.notification_id = ${notificationId}
    and d.state in ${OPEN})`;

/** A merchant's version is a new random value after every change to one of its messages. */
export async function readDeliveryVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { deliveries: string }>> {
  const rows = await readOfMerchants<{ merchant_id: MerchantId; version: string }>(
    queries,
    merchantIds,
    (isTheirs) => `select merchant_id, version from delivery_queues where ${isTheirs} and endpoint_id = 0`,
  );
  return new Map(rows.map(({ merchant_id, version }) => [merchant_id, { deliveries: version }]));
}
