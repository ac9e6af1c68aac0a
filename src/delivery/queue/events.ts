import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Queries } from '../../database/database.ts';
import { type DeliveryState, valueRows } from './table.ts';

/** What happened to a delivery, in order. */
export interface DeliveryEvent {
  deliveryId: number;
  at: string;
  state: DeliveryState;
  code?: string | undefined;
  note?: string | undefined;
  /** The channel of the attempt, where there was one. */
  channelId?: string | undefined;
}

const COLUMNS = 'merchant_id, delivery_id, at, state, code, note, channel_id';
const CASTS = ['bigint', 'bigint', undefined, undefined, undefined, undefined, undefined] as const;

export const eventsStep = (merchantId: MerchantId, events: readonly DeliveryEvent[]): Step => ({
  name: 'event',
  sql: `insert into delivery_events (${COLUMNS}) values ${valueRows(events.length, CASTS, 0)} returning id`,
  params: events.flatMap(({ deliveryId, at, state, code, note, channelId }) => [
    merchantId,
    deliveryId,
    at,
    state,
    code ?? null,
    note ?? null,
    channelId ?? null,
  ]),
});

/** Of a delivery that the statement before has just inserted as `delivery`. */
export const firstEventStep = (
  merchantId: MerchantId,
  { at, state, code, note }: Omit<DeliveryEvent, 'deliveryId'>,
): Step => ({
  name: 'event',
  after: 'delivery',
  sql: `insert into delivery_events (merchant_id, delivery_id, at, state, code, note)
    select cast($1 as bigint), id, $2, $3, $4, $5 from delivery returning id`,
  params: [merchantId, at, state, code ?? null, note ?? null],
});

/** The last event of each, to leave out one that would only repeat it. */
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
