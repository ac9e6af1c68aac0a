/** The condition that a notification is pending, for another feature's statement. */
export const isRequested = (merchantId: string, id: string) =>
  `exists (select 1 from notifications n where n.merchant_id = ${merchantId} and n.id = ${id}
    and n.status = 'requested')`;

/** A column of a notification as a sub-select, for another statement. Null if it is gone. */
export const columnOf = (column: 'context' | 'notification_type', merchantId: string, id: string) =>
  `(select n.${column} from notifications n where n.merchant_id = ${merchantId} and n.id = ${id})`;

/** The condition that the notification of a row exists, and that these conditions are true for it. */
export const existingNotification = (merchantId: string, row: string, conditions: readonly string[] = []) =>
  `exists (select 1 from notifications n
    where ${[`n.merchant_id = ${merchantId} and n.id = ${row}.notification_id`, ...conditions].join(' and ')})`;

/** The same in an `or`, where PostgreSQL would read the whole table once for `exists`. */
export const orExistingNotification = (merchantId: string, row: string) =>
  `(select n.id from notifications n where n.merchant_id = ${merchantId} and n.id = ${row}.notification_id) is not null`;

/** The notification that a message is about: the one that it answers, or the newest of its conversation. Null if none. */
export const notificationOf = (merchantId: string, row: string) =>
  `case when ${row}.notification_id <> 0 then ${row}.notification_id else (select max(m.id) from notifications m
    where m.merchant_id = ${merchantId} and m.conversation_id = ${row}.conversation_id) end`;

/** The condition that the notification that a message is about exists, and that these conditions are true for it. */
export const isAbout = (merchantId: string, row: string, conditions: readonly string[]) =>
  `exists (select 1 from notifications n
    where ${[`n.merchant_id = ${merchantId} and n.id = ${notificationOf(merchantId, row)}`, ...conditions].join(' and ')})`;
