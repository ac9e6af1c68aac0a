import { personWire } from '../../auth/columns.ts';
import type { Engine } from '../../database/database.ts';

/** SQL: who takes care of a notification, as JSON text or 'null'. `row` is the alias of `notifications`. */
export const assigneeWire = (engine: Engine, row = 'notifications') =>
  `coalesce(${personWire(engine, `${row}.assigned_to`)}, 'null')`;

/** SQL: how many notes a notification has. */
export const noteCount = (merchantId: string, notificationId: string) =>
  `(select count(*) from notification_notes t where t.merchant_id = ${merchantId} and t.notification_id = ${notificationId})`;

/** SQL: the newest notes of a notification as one text, up to a length. Null if it has none. */
export const noteTexts = (merchantId: string, notificationId: string, lengthMax: number) =>
  `(select substr(string_agg(t.text, ' ' order by t.id desc), 1, ${lengthMax}) from notification_notes t
    where t.merchant_id = ${merchantId} and t.notification_id = ${notificationId})`;
