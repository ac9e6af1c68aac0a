/**
 * Columns of a conversation for a row of another feature's statement, as sub-selects. `row` is the alias of a table with
 * `merchant_id` and `conversation_id`.
 */
const columnOf = (column: string) => (row: string) =>
  `(select c.${column} from conversations c where c.merchant_id = ${row}.merchant_id and c.id = ${row}.conversation_id)`;

export const customerPhoneOf = columnOf('customer_phone');
export const referenceOf = columnOf('reference');
