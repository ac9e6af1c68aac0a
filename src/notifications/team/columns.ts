import { personWire } from '../../auth/columns.ts';
import type { Engine } from '../../database/database.ts';

/** SQL: who takes care of a notification, as JSON text or 'null'. `row` is the alias of `notifications`. */
export const assigneeWire = (engine: Engine, row = 'notifications') =>
  `coalesce(${personWire(engine, `${row}.assigned_to`)}, 'null')`;

/** SQL: how many notes a notification has. */
export const noteCount = (merchantId: string, notificationId: string) =>
  `(select count(*) from notification_notes t where t.merchant_id = ${merchantId} and t.notification_id = ${notificationId})`;

/** The members that `GET /notification/{id}` has more than the list. */
export const teamMembers = (engine: Engine, merchantId: string, id: string) =>
  `, ',"assigned_to":', ${assigneeWire(engine)}, ',"notes":', ${noteCount(merchantId, id)}`;
