import type { Engine } from '../../database/database.ts';
import { JSON_TEXT } from '../../database/text.ts';

/** Parts of other statements that read the ask of a notification. */

/** Joins the ask `k` of the notification `row`, if it has one. */
export const joinAsk = (row: string) =>
  `left join asks k on k.merchant_id = ${row}.merchant_id and k.id = ${row}.id`;

/** The ask of a notification as JSON text, or null: a sub-select for the notification's own statement. */
export const askWire = (engine: Engine, merchantId: string, id: string) =>
  `(select concat('{"status":"', k.status, '","expires_at":', ${JSON_TEXT[engine]('k.expires_at')}, ',"deliver":"',
      k.deliver, '","reference":', ${JSON_TEXT[engine]('k.reference')}, '}')
    from asks k where k.merchant_id = ${merchantId} and k.id = ${id})`;
