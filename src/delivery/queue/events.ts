import type { EventType } from '../../contract/events.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { storableText } from '../../database/text.ts';
import { logEvents, type NewEvent } from '../../events/record.ts';
import { type DeliveryState, MESSAGES, textOrNull } from './table.ts';

/** What happened to a delivery, in order. */
export interface DeliveryEvent {
  deliveryId: number;
  at: string;
  state: DeliveryState;
  code?: string | undefined;
  note?: string | undefined;
  /** The channel of the attempt, if there was one. */
  channelId?: string | undefined;
}

/** The history of deliveries. */
export async function insertHistory(
  tx: Queries,
  merchantId: MerchantId,
  events: readonly DeliveryEvent[],
): Promise<void> {
  await insertRows(
    tx,
    'delivery_events',
    events.map(({ deliveryId, at, state, code, note, channelId }) => ({
      ...{ merchant_id: merchantId, delivery_id: deliveryId, at, state },
      // Both may come from a channel.
      ...{ code: textOrNull(code), note: textOrNull(note), channel_id: channelId ?? null },
    })),
  );
}

/** The states that are events for a merchant's programs. */
const REPORTED: Partial<Record<DeliveryState, EventType>> = {
  sent: 'delivery.sent',
  delivered: 'delivery.delivered',
  read: 'delivery.read',
  failed: 'delivery.failed',
};

/** Codes are words of ours, or come from a channel. */
const plain = (code: string) => storableText(code).replaceAll('\\', '').replaceAll('"', '');

/** What a merchant's programs hear of a message. Events for endpoints and alerts for devices are no messages. */
export interface Message {
  id: number;
  endpoint_id: number;
  notification_id: number | null;
  conversation_id: number;
}

/** Records what happened to these messages, and reports it to the merchant's programs. */
export async function recordEvents(
  tx: Queries,
  merchantId: MerchantId,
  messages: readonly Message[],
  events: readonly DeliveryEvent[],
): Promise<void> {
  await insertHistory(tx, merchantId, events);
  await logEvents(tx, merchantId, reportsOf(messages, events));
}

const reportsOf = (messages: readonly Message[], events: readonly DeliveryEvent[]): NewEvent[] =>
  events.flatMap(({ deliveryId, at, state, code }) => {
    const type = REPORTED[state];
    const message = messages.find(({ id }) => id === deliveryId);
    if (!type || message?.endpoint_id !== MESSAGES) return [];
    const { conversation_id } = message;
    const notification_id = message.notification_id || null;
    const data = { delivery_id: deliveryId, notification_id, conversation_id, state };
    return [
      {
        ...{ type, at: new Date(at), notificationId: notification_id },
        data: { ...data, code: code === undefined ? null : plain(code) },
      },
    ];
  });

/** The last event of each delivery, so that an identical one is not recorded again. */
export async function lastEvents(
  queries: Queries,
  merchantId: MerchantId,
  deliveryIds: readonly number[],
): Promise<Map<number, { state: string; code: string | null; note: string | null }>> {
  const last = new Map<number, { state: string; code: string | null; note: string | null }>();
  for (const id of deliveryIds) {
    const row = await queries.one<{ state: string; code: string | null; note: string | null }>(
      `select state, code, note from delivery_events where merchant_id = $1 and delivery_id = $2
        order by id desc limit 1`,
      [merchantId, id],
    );
    if (row) last.set(id, row);
  }
  return last;
}

/** Whether one of the delivery's attempts went through this channel. */
export async function wasAttemptedThrough(
  queries: Queries,
  merchantId: MerchantId,
  deliveryId: number,
  channelId: string,
): Promise<boolean> {
  const row = await queries.one(
    `select id from delivery_events where merchant_id = $1 and delivery_id = $2 and channel_id = $3 limit 1`,
    [merchantId, deliveryId, channelId],
  );
  return row !== undefined;
}

export interface TimelineEntry {
  at: string;
  state: DeliveryState;
  code: string | null;
  note: string | null;
}

export function readTimeline(queries: Queries, merchantId: MerchantId, id: number): Promise<TimelineEntry[]> {
  return queries.all<TimelineEntry>(
    `select at, state, code, note from delivery_events where merchant_id = $1 and delivery_id = $2 order by id`,
    [merchantId, id],
  );
}
