/** The condition that a notification is pending, for another feature's statement. */
export const isRequested = (merchantId: string, id: string) =>
  `exists (select 1 from notifications n where n.merchant_id = ${merchantId} and n.id = ${id}
    and n.status = 'requested')`;

/** The context of a notification as a sub-select, for another feature's statement. Null if it is gone. */
export const contextOf = (merchantId: string, id: string) =>
  `(select n.context from notifications n where n.merchant_id = ${merchantId} and n.id = ${id})`;

/**
 * The condition that the notification of a row exists, and that these conditions are true for it. `row` has `merchant_id`
 * and `notification_id`.
 */
export const existingNotification = (row: string, conditions: readonly string[] = []) =>
  `exists (select 1 from notifications n
    where ${[`n.merchant_id = ${row}.merchant_id and n.id = ${row}.notification_id`, ...conditions].join(' and ')})`;
