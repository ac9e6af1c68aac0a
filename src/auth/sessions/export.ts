/** Of one user, who is $1: the last id is $2, the limit $3. */
export const SESSIONS_OF_USER = `select id, created_at, last_used_at, expires_at, revoked_at, address, device
  from sessions where user_id = $1 and id > $2 order by id limit $3`;
