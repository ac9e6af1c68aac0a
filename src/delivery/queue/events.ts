import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Queries } from '../../database/database.ts';
import { logStep } from '../../events/record.ts';
import { type DeliveryState, notificationIdOf, textOrNull } from './table.ts';

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

const eventsStep = (merchantId: MerchantId, events: readonly DeliveryEvent[]): Step => ({
  name: 'event',
  rows: {
    columns: {
      merchant_id: 'bigint',
      delivery_id: 'bigint',
      at: 'text',
      state: 'text',
      code: 'text',
      note: 'text',
      channel_id: 'text',
    },
    values: events.map(({ deliveryId, at, state, code, note, channelId }) => ({
      merchant_id: merchantId,
      delivery_id: deliveryId,
      at,
      state,
      // Both may come from a channel.
      code: textOrNull(code),
      note: textOrNull(note),
      channel_id: channelId ?? null,
    })),
  },
  sql: `insert into delivery_events (merchant_id, delivery_id, at, state, code, note, channel_id)
    select merchant_id, delivery_id, at, state, code, note, channel_id from event_rows
    returning merchant_id, delivery_id, at, state, code`,
});

const isReported = (state: DeliveryState) => state in REPORTED;
/** The states that are events for a merchant's programs. */
const REPORTED: Partial<Record<DeliveryState, true>> = {
  sent: true,
  delivered: true,
  read: true,
  failed: true,
};

/** Codes are words of ours, or come from a channel. */
const quoted = (code: string) => `concat('"', replace(replace(${code}, '\\', ''), '"', ''), '"')`;

const dataOf = (delivery: string, state: string, code: string) =>
  `concat('{"delivery_id":', ${delivery}.id, ',"notification_id":', coalesce(cast(${notificationIdOf(`${delivery}.`)} as text), 'null'),
    ',"conversation_id":', ${delivery}.conversation_id, ',"state":"', ${state}, '","code":',
    case when ${code} is null then 'null' else ${quoted(code)} end, '}')`;

/** The steps that record what happened, and report it to the merchant's programs. */
export function recordSteps(merchantId: MerchantId, events: readonly DeliveryEvent[]): Step[] {
  const record = eventsStep(merchantId, events);
  if (!events.some(({ state }) => isReported(state))) return [record];
  const states = Object.keys(REPORTED).map((state) => `'${state}'`);
  return [
    record,
    logStep(
      `select e.merchant_id, concat('delivery.', e.state), e.at, ${notificationIdOf('d.')}, ${dataOf('d', 'e.state', 'e.code')},
          cast(null as text)
        from event e join deliveries d on d.merchant_id = e.merchant_id and d.id = e.delivery_id
        where e.state in (${states}) and d.endpoint_id = 0`,
    ),
  ];
}

/** Of a delivery that cannot be sent because its number is not valid. */
export const failedReportStep: Step = {
  ...logStep(
    `select d.merchant_id, 'delivery.failed', d.created_at, ${notificationIdOf('d.')},
        ${dataOf('d', 'd.state', 'd.last_code')}, cast(null as text)
      from delivery d`,
  ),
  name: 'report',
};

/** The first event of each delivery that the step `delivery` has inserted. */
export const firstEventsStep: Step = {
  name: 'event',
  sql: `insert into delivery_events (merchant_id, delivery_id, at, state, code, note)
    select merchant_id, id, created_at, state, last_code, reason from delivery returning id`,
};

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
