import type { EventType } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';

/** Something that a merchant's programs may want to hear of. */
export interface NewEvent {
  type: EventType;
  at: Date;
  /** Readers get the reference and metadata of the ask with this id. */
  notificationId: number | null;
  /** Ids and states only. */
  data: Readonly<Record<string, string | number | boolean | null | readonly number[]>>;
  /** Texts, for readers that may see them. */
  content?: Readonly<Record<string, string | null>>;
}

/** Use the transaction of the change, so that neither exists without the other. One insert for all: each costs as much as an index. */
export async function logEvents(
  tx: Queries,
  merchantId: MerchantId,
  events: readonly NewEvent[],
): Promise<void> {
  await insertRows(
    tx,
    'new_events',
    events.map(({ type, at, notificationId, data, content }) => ({
      merchant_id: merchantId,
      type,
      at: at.toISOString(),
      notification_id: notificationId,
      data: JSON.stringify(data),
      content: content ? JSON.stringify(content) : null,
    })),
  );
}
