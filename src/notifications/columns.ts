import type { NotificationType } from '../contract/notifications.ts';

/** The context of a notification as a sub-select, for another feature's statement. Null if it is gone. */
export const contextOf = (merchantId: string, id: string) =>
  `(select n.context from notifications n where n.merchant_id = ${merchantId} and n.id = ${id})`;

/** The condition that the notification of a row exists, and is of this type. `row` has `merchant_id` and `notification_id`. */
export const notificationExists = (row: string, type?: NotificationType) =>
  `exists (select 1 from notifications n where n.merchant_id = ${row}.merchant_id and n.id = ${row}.notification_id${
    type === undefined ? '' : ` and n.notification_type = '${type}'`
  })`;
