import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';

/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_CONVERSATIONS = `select id, reference, customer_name, customer_phone, taken_over_at, taken_over_by, created_at,
    updated_at
  from conversations where merchant_id = $1 and id > $2 and erased_at is null order by id limit $3`;

export const EXPORTED_MESSAGES = `select id, conversation_id, sender, message_id, text, at
  from conversation_messages where merchant_id = $1 and id > $2 order by id limit $3`;

export const EXPORTED_SAVED_REPLIES = `select id, title, text, created_at, updated_at
  from saved_replies where merchant_id = $1 and id > $2 order by id limit $3`;

/** The merchant is $1, the last conversation and number $2 and $3, the limit $4. */
export const EXPORTED_WRONG_PHONES = `select conversation_id, phone, replaced_by, created_at from wrong_phones
  where merchant_id = $1 and (conversation_id, phone) > ($2, $3) order by conversation_id, phone limit $4`;

/** Of one conversation, which is $4. */
export const CONVERSATION = EXPORTED_CONVERSATIONS.replace('and id > $2', 'and id > $2 and id = $4');

export const MESSAGES_OF_CONVERSATION = EXPORTED_MESSAGES.replace(
  'and id > $2',
  'and id > $2 and conversation_id = $4',
);

/** The last number is $2, the limit $3. */
export const WRONG_PHONES_OF_CONVERSATION = `select conversation_id, phone, replaced_by, created_at
  from wrong_phones where merchant_id = $1 and phone > $2 and conversation_id = $4 order by phone limit $3`;

/** The numbers of a customer, and those of `others` that no other customer has: an answer may go to another number. */
export async function findPhones(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
  others: readonly string[],
): Promise<string[]> {
  const own = await queries.all<{ phone: string }>(
    `select distinct customer_phone as phone from conversations
      where ${ownIdIn(queries, '$1', '$2')} and customer_phone <> ''`,
    [merchantId, conversationIds],
  );
  const phones = new Set(own.map(({ phone }) => phone));
  for (const phone of others) {
    const sql = 'select id from conversations where merchant_id = $1 and customer_phone = $2 limit 1';
    if (!(await queries.one(sql, [merchantId, phone]))) phones.add(phone);
  }
  return [...phones];
}
