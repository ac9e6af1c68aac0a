/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_DELIVERIES = `select id, notification_id, conversation_id, recipient, mode, content, state, created_at
  from deliveries where merchant_id = $1 and endpoint_id = 0 and id > $2 order by id limit $3`;
