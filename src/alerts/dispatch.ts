import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { countQueuedOf, enqueueEvents, type NewEventDelivery } from '../delivery/queue/endpointEvents.ts';
import { PUSH_QUEUES } from '../delivery/queue/table.ts';
import { type LoggedEvent, lastPositions, numberBatch, readEvents, withNewEvents } from '../events/log.ts';
import { makeMailsDue } from './mails.ts';
import { type AlertLog, listDue, movePosition } from './positions.ts';
import { type Alert, alertOf, isFor } from './rules.ts';
import { listSubscribers, type Subscriber } from './subscriptions.ts';

/** Puts alerts of new events into the queues of people's devices. What raises an event pays nothing for it. */

export interface DispatchParts {
  database: Database;
  log: Logger;
  now: () => Date;
}

const MERCHANTS_AT_ONCE = 256;
const EVENTS_AT_ONCE = 100;
/** In one transaction. The alerts of one event stay together. */
const ALERTS_AT_ONCE = 500;
/** While so many wait for a device, it gets no more: whoever has missed a hundred looks at the list. */
const WAITING_MAX = 100;

/** What may need a mail. */
const MAILED: ReadonlySet<LoggedEvent['type']> = new Set([
  'notification.requested',
  'delivery.failed',
  'delivery.needs_attention',
]);

/** `event` is a position in the log, or the name of a test. */
export const alertDelivery = (subscriptionId: number, alert: Alert, event: number | string) =>
  ({
    endpointId: PUSH_QUEUES + subscriptionId,
    // The name by which a push service replaces an earlier attempt. It is unique for a device.
    webhookId: typeof event === 'number' ? `e${event}` : event,
    eventId: typeof event === 'number' ? event : null,
    type: `alert.${alert.kind}`,
    body: JSON.stringify(alert),
  }) satisfies NewEventDelivery & { endpointId: number };

/** One batch for every merchant that has new events. Returns how many events were looked at: if any, call it again. */
export async function dispatchAlerts(parts: DispatchParts): Promise<number> {
  const { database, log } = parts;
  let count = 0;
  for (let after = 0; ; ) {
    const logs = await listDue(database, after, MERCHANTS_AT_ONCE);
    const merchantIds = logs.map(({ merchant_id }) => merchant_id);
    if (logs.length > 0) {
      for (const merchantId of await withNewEvents(database, merchantIds))
        await numberBatch(database, merchantId);
      const positions = await lastPositions(database, merchantIds);
      for (const one of logs) {
        const last = positions.get(one.merchant_id) ?? 0;
        if (last <= one.position) continue;
        try {
          count += await dispatchOf(parts, one, last);
        } catch (err) {
          // A problem with one merchant must not stop the others.
          if (err instanceof DatabaseUnavailable) throw err;
          log.error({ err, merchant_id: one.merchant_id }, 'cannot put alerts into the queue; will retry');
        }
      }
    }
    if (logs.length < MERCHANTS_AT_ONCE) return count;
    after = merchantIds.at(-1)!;
  }
}

/** `last` is a position that was read before the events: whatever is up to it can be seen here. */
async function dispatchOf({ database, now }: DispatchParts, log: AlertLog, last: number): Promise<number> {
  const merchantId = log.merchant_id;
  const read = await readEvents(database, merchantId, { after: log.position, limit: EVENTS_AT_ONCE });
  const subscribers = read.some(alertOf) ? await withRoom(database, merchantId) : [];
  const { events, deliveries } = takeBatch(read, subscribers);
  const raised = events.some(({ type }) => MAILED.has(type));
  const to = events.at(-1)?.id ?? last;
  await database.transaction(async (tx) => {
    if (!(await movePosition(tx, log, to))) return;
    if (raised) await makeMailsDue(tx, merchantId, now());
    await enqueueEvents(tx, merchantId, deliveries, now());
  });
  return events.length;
}

async function withRoom(database: Database, merchantId: MerchantId): Promise<Subscriber[]> {
  const subscribers = await listSubscribers(database, merchantId);
  const queues = subscribers.map(({ id }) => PUSH_QUEUES + id);
  const waiting = await countQueuedOf(database, merchantId, queues);
  return subscribers.filter(({ id }) => (waiting.get(PUSH_QUEUES + id) ?? 0) < WAITING_MAX);
}

function takeBatch(read: readonly LoggedEvent[], subscribers: readonly Subscriber[]) {
  const events: LoggedEvent[] = [];
  const deliveries: ReturnType<typeof alertDelivery>[] = [];
  for (const event of read) {
    if (deliveries.length >= ALERTS_AT_ONCE) break;
    events.push(event);
    const told = alertOf(event);
    if (!told) continue;
    for (const { id, user_id, what } of subscribers)
      if (isFor(told, user_id, what)) deliveries.push(alertDelivery(id, told.alert, event.id));
  }
  return { events, deliveries };
}
