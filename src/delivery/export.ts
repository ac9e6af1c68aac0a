/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_DELIVERIES = `select id, notification_id, conversation_id, recipient, mode, content, state, sent_by, created_at
  from deliveries where merchant_id = $1 and endpoint_id = 0 and id > $2 order by id limit $3`;

/** What happened to them. The last delivery is $2 and its last event $3, the limit $4. */
export const EXPORTED_DELIVERY_EVENTS = `select e.delivery_id, e.id, e.at, e.state, e.code, e.note
  from delivery_events e where e.merchant_id = $1 and (e.delivery_id, e.id) > ($2, $3)
    and (select d.endpoint_id from deliveries d where d.merchant_id = e.merchant_id and d.id = e.delivery_id) = 0
  order by e.delivery_id, e.id limit $4`;

/** Of one conversation, which is $4. */
export const DELIVERIES_OF_CONVERSATION = EXPORTED_DELIVERIES.replace(
  'and id > $2',
  'and id > $2 and conversation_id = $4',
);

export const DELIVERY_EVENTS_OF_CONVERSATION = `select e.id, e.delivery_id, e.at, e.state, e.code, e.note
  from deliveries d join delivery_events e on e.merchant_id = d.merchant_id and e.delivery_id = d.id
  where d.merchant_id = $1 and d.conversation_id = $4 and d.endpoint_id = 0 and e.id > $2 order by e.id limit $3`;
