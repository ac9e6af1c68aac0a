import type { EventType } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import { defineInsert, type Insert, NEW_ID } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';

/** Something that a merchant's programs may want to hear of. */
export interface NewEvent {
  type: EventType;
  at: Date;
  /** Readers get the reference and metadata of the ask with this id. */
  notificationId: number | typeof NEW_ID | null;
  /** Ids and states only. */
  data: Readonly<Record<string, string | number | boolean | null | readonly number[]>>;
  /** Texts, for readers that may see them. */
  content?: Readonly<Record<string, string | null>>;
}

/** Writes the events in the chain of what they tell. One insert for all: each costs as much as an index. */
export const eventsStep = (merchantId: MerchantId, events: readonly NewEvent[]): Insert => ({
  shape: events[0]?.notificationId === NEW_ID ? EVENTS_OF_NEW : EVENTS,
  values: events.map(({ type, at, notificationId, data, content }) => ({
    merchant_id: merchantId,
    type,
    at: at.toISOString(),
    notification_id: notificationId === NEW_ID ? null : notificationId,
    data: JSON.stringify(data),
    content: content ? JSON.stringify(content) : null,
  })),
});

const TABLE = {
  table: 'new_events',
  columns: {
    merchant_id: 'bigint',
    type: 'text',
    at: 'text',
    notification_id: 'bigint',
    data: 'text',
    content: 'text',
  },
} as const;
const EVENTS = defineInsert(TABLE);
/** All are of the notification that the chain inserts. */
const EVENTS_OF_NEW = defineInsert({ ...TABLE, newId: { column: 'notification_id', json: 'data' } });

/** Use the transaction of the change, so that neither exists without the other. */
export async function logEvents(
  queries: Queries,
  merchantId: MerchantId,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length > 0) await queries.chain({ steps: [eventsStep(merchantId, events)] });
}
