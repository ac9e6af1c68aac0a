/** Parts of other features' statements that read or end an ask. */

/** A sub-select. `row` is the alias of a table with `merchant_id` and `notification_id`. */
export const askColumn = (column: 'reference' | 'metadata' | 'answered_by') => (row: string) =>
  `(select k.${column} from asks k where k.merchant_id = ${row}.merchant_id and k.id = ${row}.notification_id)`;

/** The condition that the notification's ask has expired and nobody has written it down yet. */
export const askIsDue = (merchantId: string, id: string, at: string) =>
  `exists (select 1 from asks k where k.merchant_id = ${merchantId} and k.id = ${id} and k.status = 'waiting'
    and k.expires_at <= ${at})`;

/** Joins the ask `k` of the notification `row`, if it has one. */
export const joinAsk = (row: string) =>
  `left join asks k on k.merchant_id = ${row}.merchant_id and k.id = ${row}.id`;
