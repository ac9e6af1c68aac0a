/** For the export: the merchant is $1, the last id $2, the limit $3. The key itself is not stored. */
export const EXPORTED_KEYS = `select id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at
  from machine_keys where merchant_id = $1 and id > $2 order by id limit $3`;
