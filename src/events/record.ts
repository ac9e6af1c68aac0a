import type { EventType } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';

/** Something that a merchant's programs may want to hear of. */
export interface NewEvent {
  type: EventType;
  at: Date;
  /** Readers get the reference and metadata of the ask with this id. */
  notificationId: number | null;
  /** Ids and states only. */
  data: Readonly<Record<string, string | number | boolean | null>>;
  /** Texts, for readers that may see them. */
  content?: Readonly<Record<string, string | null>>;
}

/**
 * Writes events in the statement of what they tell. With `after`, the name of a step that is `returning` the merchant and
 * id of a notification, only if that step returned a row.
 */
export const logStep = (merchantId: MerchantId, events: readonly NewEvent[], after?: string): Step => ({
  name: 'log',
  rows: {
    columns: {
      merchant_id: 'bigint',
      type: 'text',
      at: 'text',
      notification_id: 'bigint',
      data: 'text',
      content: 'text',
    },
    values: events.map(({ type, at, notificationId, data, content }) => ({
      merchant_id: merchantId,
      type,
      at: at.toISOString(),
      notification_id: notificationId,
      data: JSON.stringify(data),
      content: content ? JSON.stringify(content) : null,
    })),
  },
  sql: `insert into events (merchant_id, type, at, notification_id, data, content)
    select r.merchant_id, r.type, r.at, r.notification_id, r.data, r.content from log_rows r
      ${after ? `join ${after} a on a.merchant_id = r.merchant_id and a.id = r.notification_id` : ''}
    returning seq`,
});

/** Use the transaction of the change, so that neither exists without the other. */
export async function logEvents(
  queries: Queries,
  merchantId: MerchantId,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length > 0) await queries.chain([logStep(merchantId, events)]);
}

/** Like `logStep`, from what earlier steps of the chain returned: the select has the columns below. */
export const logSelectedStep = (name: string, select: string): Step => ({
  name,
  sql: `insert into events (merchant_id, type, at, notification_id, data) ${select} returning seq`,
});
