import { PASSING, PERSONAL, plain, SECRETS, server, type Table } from '../database/tables.ts';

export const ALERT_TABLES: readonly Table[] = [
  {
    ...{ name: 'push_subscriptions', line: 'alert_device' },
    exported: 'id language created_at',
    internal: 'user_id session_id fingerprint sealed',
    because: SECRETS,
    user: { rows: 'user_id = :whose', erase: 'forgetDevices' },
  },
  {
    ...{ name: 'alert_settings', key: 'user_id', line: 'alert_settings' },
    exported: 'push hide_text email_after_minutes quiet_hours what mailed_at',
    internal: 'user_id mail_due_at',
    json: 'quiet_hours',
    because: PERSONAL,
    user: { rows: 'user_id = :whose', erase: 'delete' },
  },
  plain('alert_logs', 'merchant_id', 'position looked_at', PASSING),
  server('vapid_keys', 'id', 'id public_key sealed_private_key created_at'),
];
