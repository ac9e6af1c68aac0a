import type { Event } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import {
  countQueued,
  enqueueEvents,
  findQueued,
  hurryEvents,
  type NewEventDelivery,
} from '../delivery/queue/endpointEvents.ts';
import { followEvents } from '../events/follow.ts';
import { eventOf, type LoggedEvent, readEvents } from '../events/log.ts';
import type { Job } from '../jobs/job.ts';
import type { Vault } from '../secrets.ts';
import { listDue, movePosition, moveReplay } from './positions.ts';
import { type Endpoint, findEndpoint } from './store.ts';

/** Puts new events into the queues of the endpoints that want them. */

export interface DispatchParts {
  database: Database;
  vault: Vault;
  now: () => Date;
}

const ENDPOINTS_AT_ONCE = 256;
/** Of a replay. */
const EVENTS_AT_ONCE = 100;
/** Of the bodies that one transaction writes, in characters. */
const BODIES_LENGTH_MAX = 500_000;
/** While so many wait for an endpoint, further ones stay in the log. */
export const QUEUED_MAX = 1000;

export const webhookIdOf = (merchantId: MerchantId, eventId: number) => `evt_${merchantId}_${eventId}`;

/** The body is fixed here: every attempt sends the same bytes. */
export function eventDelivery(
  {
    merchant_id: merchantId,
    id: endpointId,
    includeContent,
  }: Pick<Endpoint, 'merchant_id' | 'id' | 'includeContent'>,
  logged: LoggedEvent,
): NewEventDelivery {
  const { id, type, timestamp, data }: Event = eventOf(logged, includeContent);
  return {
    endpointId,
    webhookId: webhookIdOf(merchantId, id),
    eventId: id,
    type,
    body: JSON.stringify({ type, timestamp, data: { event_id: id, ...data } }),
  };
}

/** New events first: a replay continues when there are none, or no room for them. */
export const followForEndpoints = (parts: DispatchParts): Job => {
  const { database, vault, now } = parts;
  return followEvents({
    database,
    name: 'webhooks',
    purpose: 'put events into the queue',
    listDue: (after) => listDue(database, after, ENDPOINTS_AT_ONCE),
    async find({ merchant_id: merchantId, endpoint_id: id = 0 }) {
      const endpoint = await findEndpoint(database, vault, merchantId, id);
      if (!endpoint?.enabled) return undefined;
      const room = QUEUED_MAX - (await countQueued(database, merchantId, id, QUEUED_MAX));
      return {
        position: endpoint.position,
        room,
        take(read) {
          const { events, deliveries } = takeBatch(endpoint, read, () => true);
          return { events, write: (tx) => enqueueEvents(tx, merchantId, deliveries, now()) };
        },
        move: (tx, to) => movePosition(tx, endpoint, to),
        otherwise: async () => (await replay(parts, endpoint, room)) > 0,
      };
    },
  });
};

/** An event that still waits for its next attempt is sent now. It needs no second copy, and no room. */
async function replay({ database, now }: DispatchParts, endpoint: Endpoint, room: number): Promise<number> {
  const { merchant_id: merchantId, id, replay_position: from, replay_until, replay_since } = endpoint;
  if (from === null) return 0;
  const read = await readEvents(database, merchantId, { after: from, limit: EVENTS_AT_ONCE });
  const until = replay_until ?? 0;
  const inRange = read.filter((event) => event.id <= until);
  const batch = takeBatch(endpoint, inRange, ({ at }) => at >= (replay_since ?? ''));
  const webhookIds = batch.deliveries.map(({ webhookId }) => webhookId);
  const queued = await findQueued(database, merchantId, id, webhookIds);
  const added = batch.deliveries.filter(({ webhookId }) => !queued.has(webhookId));
  // The first one for which there is no room.
  const end = added[room]?.eventId ?? Number.POSITIVE_INFINITY;
  const events = batch.events.filter((event) => event.id < end);
  if (events.length === 0 && batch.events.length > 0) return 0;
  const last = events.at(-1)?.id;
  const to = last === undefined || last >= until ? undefined : last;
  const hurried = events.flatMap((event) => queued.get(webhookIdOf(merchantId, event.id)) ?? []);
  await database.transaction(async (tx) => {
    if (!(await moveReplay(tx, endpoint, { from, to }))) return;
    await hurryEvents(tx, merchantId, id, hurried, now());
    await enqueueEvents(tx, merchantId, added.slice(0, room), now());
  });
  return events.length;
}

/** As many of the events as fit into one transaction, and the deliveries of those that the endpoint wants. */
function takeBatch(
  endpoint: Endpoint,
  read: readonly LoggedEvent[],
  isWanted: (event: LoggedEvent) => boolean,
): { events: LoggedEvent[]; deliveries: NewEventDelivery[] } {
  const events: LoggedEvent[] = [];
  const deliveries: NewEventDelivery[] = [];
  let length = 0;
  for (const event of read) {
    if (length > BODIES_LENGTH_MAX) break;
    events.push(event);
    if ((endpoint.events !== null && !endpoint.events.includes(event.type)) || !isWanted(event)) continue;
    const delivery = eventDelivery(endpoint, event);
    length += delivery.body.length;
    deliveries.push(delivery);
  }
  return { events, deliveries };
}
