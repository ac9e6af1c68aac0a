import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';

/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_DELIVERIES = `select id, notification_id, conversation_id, recipient, mode, content, state, sent_by, created_at
  from deliveries where merchant_id = $1 and endpoint_id = 0 and id > $2 order by id limit $3`;

/** What happened to them. The last delivery is $2 and its last event $3, the limit $4. */
export const EXPORTED_DELIVERY_EVENTS = `select e.delivery_id, e.id, e.at, e.state, e.code, e.note
  from delivery_events e where e.merchant_id = $1 and (e.delivery_id, e.id) > ($2, $3)
    and (select d.endpoint_id from deliveries d where d.merchant_id = $1 and d.id = e.delivery_id) = 0
  order by e.delivery_id, e.id limit $4`;

/** Of one conversation, which is $4. */
export const DELIVERIES_OF_CONVERSATION = EXPORTED_DELIVERIES.replace(
  'and id > $2',
  'and id > $2 and conversation_id = $4',
);

export const DELIVERY_EVENTS_OF_CONVERSATION = `select e.id, e.delivery_id, e.at, e.state, e.code, e.note
  from deliveries d join delivery_events e on e.merchant_id = d.merchant_id and e.delivery_id = d.id
  where d.merchant_id = $1 and d.conversation_id = $4 and d.endpoint_id = 0 and e.id > $2 order by e.id limit $3`;

/** The messages on a test phone, whose number is $4. */
export const TEST_PHONE = `select id, phone, from_customer, content, at, read_at
  from simulator_messages where merchant_id = $1 and id > $2 and phone = $4 order by id limit $3`;

/** When a number got the last message that counts towards the daily limit. The merchant is $1, the number $2. */
export const REACHED =
  'select recipient, reached_at from reached_customers where merchant_id = $1 and recipient = $2';

/** When somebody last wrote to a channel, which is $1. The number is $2. */
export const WINDOW =
  'select channel_id, phone, opened_at from customer_windows where channel_id = $1 and phone = $2';

/** The numbers that messages of these conversations went to, and their channels. */
export async function findReached(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<{ phones: string[]; channelIds: string[] }> {
  const rows = await queries.all<{ recipient: string; channel_id: string | null }>(
    `select distinct recipient, channel_id from deliveries
      where ${ownIdIn(queries, '$1', '$2', 'conversation_id')} and endpoint_id = 0`,
    [merchantId, conversationIds],
  );
  return {
    phones: [...new Set(rows.map(({ recipient }) => recipient))],
    channelIds: [...new Set(rows.flatMap(({ channel_id }) => channel_id ?? []))],
  };
}
