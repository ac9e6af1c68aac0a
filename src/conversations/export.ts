/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_CONVERSATIONS = `select id, reference, customer_name, customer_phone, taken_over_at, taken_over_by, created_at,
    updated_at
  from conversations where merchant_id = $1 and id > $2 order by id limit $3`;

export const EXPORTED_MESSAGES = `select id, conversation_id, sender, message_id, text, at
  from conversation_messages where merchant_id = $1 and id > $2 order by id limit $3`;

export const EXPORTED_SAVED_REPLIES = `select id, title, text, created_at, updated_at
  from saved_replies where merchant_id = $1 and id > $2 order by id limit $3`;
