/** Of one user, who is $1, also of an operator. Without secrets: of all these. */
export const USER = `select id, merchant_id, name, email, role, disabled_at, second_factor_at, created_at
  from users where id = $1 and deleted_at is null`;

export const AUTHENTICATOR_OF_USER = 'select created_at, confirmed_at from totp_secrets where user_id = $1';

export const PASSKEYS_OF_USER = `select id, name, created_at, last_used_at from passkeys where user_id = $1 order by id`;

/** Whom the user invited: the merchant is $1, the last id $2, the limit $3, the user $4. */
export const INVITES_OF_USER = `select id, role, email, name, created_at, expires_at
  from invites where merchant_id = $1 and id > $2 and created_by = $4 order by id limit $3`;
