/** Parts of other features' statements that read or end an ask. */

/** A sub-select. `row` is the alias of a table with `merchant_id` and `notification_id`. */
export const askColumn = (column: 'reference' | 'metadata' | 'answered_by') => (row: string) =>
  `(select k.${column} from asks k where k.merchant_id = ${row}.merchant_id and k.id = ${row}.notification_id)`;

/** Joins the ask `k` of the notification `row`, if it has one. */
export const joinAsk = (row: string) =>
  `left join asks k on k.merchant_id = ${row}.merchant_id and k.id = ${row}.id`;
