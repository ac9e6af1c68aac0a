import { PASSING, PERSONAL, SECRETS, type Table } from '../database/tables.ts';

export const ALERT_TABLES: readonly Table[] = [
  {
    name: 'push_subscriptions',
    exported: 'id language created_at',
    internal: 'merchant_id user_id session_id fingerprint sealed',
    because: SECRETS,
    user: { line: 'alert_device', rows: 'user_id = :whose', erase: 'forgetDevices' },
  },
  {
    name: 'alert_settings',
    key: 'user_id',
    exported: 'push hide_text email_after_minutes quiet_hours what mailed_at',
    internal: 'merchant_id user_id mail_due_at',
    json: 'quiet_hours',
    because: PERSONAL,
    user: { line: 'alert_settings', rows: 'user_id = :whose', erase: 'delete' },
  },
  { name: 'alert_logs', key: 'merchant_id', internal: 'merchant_id position looked_at', because: PASSING },
  { name: 'vapid_keys', of: 'server', internal: 'id public_key sealed_private_key created_at' },
];
