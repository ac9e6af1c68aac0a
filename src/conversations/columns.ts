import type { MerchantId } from '../contract/ids.ts';
import type { Engine, Queries } from '../database/database.ts';

/** Sub-selects with which other features' statements read a conversation. */

/**
 * `row` is the alias of a table with `merchant_id` and `conversation_id`. If the statement is about one merchant, give its
 * parameter: a cluster finds the node by it.
 */
const columnOf =
  (column: string) =>
  (row: string, merchantId = `${row}.merchant_id`) =>
    `(select c.${column} from conversations c where c.merchant_id = ${merchantId} and c.id = ${row}.conversation_id)`;

export const customerNameOf = columnOf('customer_name');
export const customerPhoneOf = columnOf('customer_phone');
export const referenceOf = columnOf('reference');
export const erasedAtOf = columnOf('erased_at');

const OBJECT_OF: Readonly<Record<Engine, (name: string, value: string) => string>> = {
  sqlite: (name, value) => `json_group_object(${name}, ${value})`,
  postgres: (name, value) => `coalesce(cast(json_object_agg(${name}, ${value}) as text), '{}')`,
};

/** The numbers that turned out to be wrong, each with the one that replaced it, as a JSON object. */
export const wrongPhonesOf = (engine: Engine, row: string, merchantId = `${row}.merchant_id`) =>
  `(select ${OBJECT_OF[engine]('w.phone', 'w.replaced_by')} from wrong_phones w
    where w.merchant_id = ${merchantId} and w.conversation_id = ${row}.conversation_id)`;

/** Whether the merchant has this conversation, and its customer is not being erased. */
export async function conversationExists(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<boolean> {
  const sql = 'select id from conversations where merchant_id = $1 and id = $2 and erased_at is null';
  return (await queries.one(sql, [merchantId, id])) !== undefined;
}
