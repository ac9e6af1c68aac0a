import type { Logger } from 'pino';
import type { Event } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import {
  countQueued,
  enqueueEvents,
  findQueued,
  hurryEvents,
  type NewEventDelivery,
} from '../delivery/queue/endpointEvents.ts';
import {
  eventOf,
  type LoggedEvent,
  lastPositions,
  numberBatch,
  readEvents,
  withNewEvents,
} from '../events/log.ts';
import type { Vault } from '../secrets.ts';
import { type EndpointKey, listDue, movePosition, moveReplay } from './positions.ts';
import { type Endpoint, findEndpoint } from './store.ts';

/** Puts new events of the log into the queues of the endpoints that want them. */

export interface DispatchParts {
  database: Database;
  vault: Vault;
  log: Logger;
  now: () => Date;
}

const ENDPOINTS_AT_ONCE = 256;
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

/** One batch for every endpoint that has new events. Returns how many events were looked at: if any, call it again. */
export async function dispatchEvents(parts: DispatchParts): Promise<number> {
  const { database } = parts;
  let count = 0;
  let last: EndpointKey | undefined;
  for (;;) {
    const endpoints = await listDue(database, last, ENDPOINTS_AT_ONCE);
    const merchantIds = [...new Set(endpoints.map(({ merchant_id }) => merchant_id))];
    if (merchantIds.length > 0) {
      for (const merchantId of await withNewEvents(database, merchantIds)) {
        await numberBatch(database, merchantId);
      }
      const positions = await lastPositions(database, merchantIds);
      for (const endpoint of endpoints) {
        const last = positions.get(endpoint.merchant_id) ?? 0;
        const isReplaying = endpoint.replay_position !== null;
        if (last > endpoint.position || isReplaying) count += await safely(parts, endpoint, last);
      }
    }
    if (endpoints.length < ENDPOINTS_AT_ONCE) return count;
    last = endpoints.at(-1);
  }
}

/** A problem with one endpoint must not stop the others. */
async function safely(parts: DispatchParts, endpoint: EndpointKey, last: number): Promise<number> {
  try {
    return await dispatchTo(parts, endpoint, last);
  } catch (err) {
    if (err instanceof DatabaseUnavailable) throw err;
    const { merchant_id, id: endpoint_id } = endpoint;
    parts.log.error({ err, merchant_id, endpoint_id }, 'cannot put events into the queue; will retry');
    return 0;
  }
}

/** New events first: a replay continues when there are none, or no room for them. */
async function dispatchTo(parts: DispatchParts, key: EndpointKey, last: number): Promise<number> {
  const { database, vault } = parts;
  const { merchant_id: merchantId, id } = key;
  const room = QUEUED_MAX - (await countQueued(database, merchantId, id, QUEUED_MAX));
  if (room === 0 && key.replay_position === null) return 0;
  const endpoint = await findEndpoint(database, vault, merchantId, id);
  if (!endpoint?.enabled) return 0;
  // Another worker may have been faster.
  const isNew = last > endpoint.position;
  if (!isNew || room === 0) return replay(parts, endpoint, room);
  return dispatchNew(parts, endpoint, { last, limit: Math.min(EVENTS_AT_ONCE, room) });
}

/** `last` is a position that was read before the events: whatever is up to it can be seen here. */
async function dispatchNew(
  { database, now }: DispatchParts,
  endpoint: Endpoint,
  { last, limit }: { last: number; limit: number },
): Promise<number> {
  const { merchant_id: merchantId, position } = endpoint;
  const read = await readEvents(database, merchantId, { after: position, limit });
  const { events, deliveries } = takeBatch(endpoint, read, () => true);
  // Without any, those up to `last` have been removed by now. Later ones may have been added meanwhile.
  const to = events.at(-1)?.id ?? last;
  await database.transaction(async (tx) => {
    if (!(await movePosition(tx, endpoint, { from: position, to }))) return;
    await enqueueEvents(tx, merchantId, deliveries, now());
  });
  return events.length;
}

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
