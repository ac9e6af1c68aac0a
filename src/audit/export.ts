/** For the export: the merchant is $1, the time and the id of the last event $2 and $3, the limit $4. */
export const EXPORTED_AUDIT_EVENTS = `select id, at, what, actor, user_id, key_id, name, address, about, count, last_at
  from audit_events where merchant_id = $1 and (at, id) > ($2, $3) order by at, id limit $4`;

/** What one user did: the last id is $2, the limit $3, the user $4. */
export const AUDIT_EVENTS_OF_USER = `select id, at, what, actor, address, about, count, last_at
  from audit_events where merchant_id = $1 and user_id = $4 and id > $2 order by id limit $3`;
