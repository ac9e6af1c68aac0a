/** Sub-selects with which other features' statements read a conversation. */

/** `row` is the alias of a table with `merchant_id` and `conversation_id`. */
const columnOf = (column: string) => (row: string) =>
  `(select c.${column} from conversations c where c.merchant_id = ${row}.merchant_id and c.id = ${row}.conversation_id)`;

export const customerNameOf = columnOf('customer_name');
export const customerPhoneOf = columnOf('customer_phone');
export const wrongPhoneOf = columnOf('wrong_phone');
export const referenceOf = columnOf('reference');

/** The table, for a join. */
export const conversations = (alias: string) => `conversations ${alias}`;

/** One row with `merchant_id` and `id`, or none if the merchant has no such conversation. */
export const existingConversation = (merchantId: string, id: string) =>
  `(select c.merchant_id, c.id from conversations c where c.merchant_id = ${merchantId} and c.id = ${id})`;
