import { ALERT_TABLES } from './alerts/tables.ts';
import { AUDIT_TABLES } from './audit/tables.ts';
import { AUTH_TABLES } from './auth/tables.ts';
import { CONVERSATION_TABLES } from './conversations/tables.ts';
import { PASSING, plain, SERVER_TABLES, STAYS, type Table } from './database/tables.ts';
import { CHANNEL_TABLES, MESSAGE_TABLES } from './delivery/tables.ts';
import { EVENT_TABLES } from './events/tables.ts';
import { JOB_TABLES } from './jobs/tables.ts';
import { KNOWLEDGE_TABLES } from './knowledge/tables.ts';
import { MAIL_TABLES } from './mail/tables.ts';
import { MERCHANT_TABLES } from './merchants/tables.ts';
import { NOTIFICATION_TABLES } from './notifications/tables.ts';
import { WEBHOOK_TABLES } from './webhooks/tables.ts';

/** Here, because src/erasure/ uses this list. The row is removed when the erasure is finished. */
export const ERASURES: Table = {
  ...plain('erasures', 'id', 'id person step due_at created_at', PASSING),
  ...STAYS,
};

/**
 * All tables, by the folder that owns them, in the order in which a deleted merchant's rows go: first what is still to be
 * sent, then what others refer to.
 */
export const TABLES: readonly Table[] = [
  ...MESSAGE_TABLES,
  ...MAIL_TABLES,
  ...WEBHOOK_TABLES,
  ...ALERT_TABLES,
  ...EVENT_TABLES,
  ...NOTIFICATION_TABLES,
  ...CONVERSATION_TABLES,
  ...CHANNEL_TABLES,
  ...KNOWLEDGE_TABLES,
  ...AUTH_TABLES,
  ERASURES,
  ...AUDIT_TABLES,
  ...MERCHANT_TABLES,
  ...JOB_TABLES,
  ...SERVER_TABLES,
];
