import type { Engine } from '../database/database.ts';

/** Sub-selects with which other features' statements read a conversation. */

/** `row` is the alias of a table with `merchant_id` and `conversation_id`. */
const columnOf = (column: string) => (row: string) =>
  `(select c.${column} from conversations c where c.merchant_id = ${row}.merchant_id and c.id = ${row}.conversation_id)`;

export const customerNameOf = columnOf('customer_name');
export const customerPhoneOf = columnOf('customer_phone');
export const referenceOf = columnOf('reference');
export const erasedAtOf = columnOf('erased_at');

const OBJECT_OF: Readonly<Record<Engine, (name: string, value: string) => string>> = {
  sqlite: (name, value) => `json_group_object(${name}, ${value})`,
  postgres: (name, value) => `coalesce(cast(json_object_agg(${name}, ${value}) as text), '{}')`,
};

/** The numbers that turned out to be wrong, each with the one that replaced it, as a JSON object. */
export const wrongPhonesOf = (engine: Engine, row: string) =>
  `(select ${OBJECT_OF[engine]('w.phone', 'w.replaced_by')} from wrong_phones w
    where w.merchant_id = ${row}.merchant_id and w.conversation_id = ${row}.conversation_id)`;

/** The table, for a join. Those of erased customers are not for new things. */
export const conversations = (alias: string) =>
  `(select * from conversations where erased_at is null) ${alias}`;

/** One row with `merchant_id` and `id`, or none if the merchant has no such conversation. */
export const existingConversation = (merchantId: string, id: string) =>
  `(select c.merchant_id, c.id from conversations c where c.merchant_id = ${merchantId} and c.id = ${id}
    and c.erased_at is null)`;
