/** The context of a notification as a sub-select, for another feature's statement. Null if it is gone. */
export const contextOf = (merchantId: string, id: string) =>
  `(select n.context from notifications n where n.merchant_id = ${merchantId} and n.id = ${id})`;
