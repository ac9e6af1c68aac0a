import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { countQueuedOf, enqueueEvents, type NewEventDelivery } from '../delivery/queue/endpointEvents.ts';
import { PUSH_QUEUES } from '../delivery/queue/table.ts';
import { followEvents } from '../events/follow.ts';
import type { LoggedEvent } from '../events/log.ts';
import type { Job } from '../jobs/job.ts';
import { makeMailsDue } from './mails.ts';
import { findPosition, listDue, movePosition } from './positions.ts';
import { type Alert, alertOf, isFor } from './rules.ts';
import { listSubscribers, type Subscriber } from './subscriptions.ts';

/** Puts alerts of new events into the queues of people's devices. */

const MERCHANTS_AT_ONCE = 256;
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

export const followForAlerts = (database: Database, now: () => Date): Job =>
  followEvents({
    database,
    name: 'alerts',
    purpose: 'put alerts into the queue',
    listDue: (after) => listDue(database, after?.merchant_id ?? 0, MERCHANTS_AT_ONCE),
    async find({ merchant_id: merchantId }) {
      const position = await findPosition(database, merchantId);
      if (position === undefined) return undefined;
      return {
        position,
        room: Number.POSITIVE_INFINITY,
        async take(read) {
          const subscribers = read.some(alertOf) ? await withRoom(database, merchantId) : [];
          const { events, deliveries } = takeBatch(read, subscribers);
          const raised = events.some(({ type }) => MAILED.has(type));
          return {
            events,
            async write(tx) {
              if (raised) await makeMailsDue(tx, merchantId, now());
              await enqueueEvents(tx, merchantId, deliveries, now());
            },
          };
        },
        move: (tx, to) => movePosition(tx, merchantId, position, to),
      };
    },
  });

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
