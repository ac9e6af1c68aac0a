/** For the export: the merchant is $1, the time and the id of the last event $2 and $3, the limit $4. */
export const EXPORTED_AUDIT_EVENTS = `select id, at, what, actor, user_id, key_id, name, address, about, count, last_at
  from audit_events where merchant_id = $1 and (at, id) > ($2, $3) order by at, id limit $4`;
