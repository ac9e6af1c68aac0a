/** The merchant is $1, the user $2. */
export const ALERT_SETTINGS_OF_USER = `select push, hide_text, email_after_minutes, quiet_hours, what, mailed_at
  from alert_settings where merchant_id = $1 and user_id = $2`;

/** The last id is $2, the limit $3, the user $4. The address of the device is encrypted. */
export const ALERT_DEVICES_OF_USER = `select id, language, created_at
  from push_subscriptions where merchant_id = $1 and id > $2 and user_id = $4 order by id limit $3`;
