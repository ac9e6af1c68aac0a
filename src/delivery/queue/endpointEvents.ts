import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine, Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { insertRows } from '../../database/insert.ts';
import { insertHistory } from './events.ts';
import { lockLanes } from './release.ts';
import { type DeliveryState, ENDPOINT, firstOfLane, makeQueueDue, NEVER, OPEN } from './table.ts';

/** The queues of webhook endpoints and of devices. Each event has a lane of its own, so that none waits for another. */

export interface NewEventDelivery {
  endpointId: number;
  /** The same in every attempt, and when the event is sent again. */
  webhookId: string;
  /** Null for a test. */
  eventId: number | null;
  type: string;
  /** Exactly the bytes that every attempt sends. */
  body: string;
}

const laneOf = (endpointId: number, webhookId: string) => `endpoint ${endpointId} ${webhookId}`;

export async function enqueueEvents(
  tx: Queries,
  merchantId: MerchantId,
  events: readonly NewEventDelivery[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  const time = at.toISOString();
  const ids = await tx.newIds('deliveries', events.length);
  await insertRows(
    tx,
    'deliveries',
    events.map(({ endpointId, webhookId, eventId, type, body }, index) => ({
      ...{ id: ids[index]!, merchant_id: merchantId, endpoint_id: endpointId, key: randomUUID() },
      ...{ notification_id: 0, conversation_id: 0, reference: webhookId },
      ...{ context: JSON.stringify({ event_id: eventId, type }), recipient: laneOf(endpointId, webhookId) },
      ...{ mode: 'reply', content: body, state: 'queued', due_at: time, created_at: time, updated_at: time },
    })),
  );
  const history = ids.map((deliveryId) => ({ deliveryId, at: time, state: 'queued' as const }));
  await insertHistory(tx, merchantId, history);
  const endpointIds = [...new Set(events.map(({ endpointId }) => endpointId))].sort((a, b) => a - b);
  for (const endpointId of endpointIds) await makeQueueDue(tx, merchantId, time, endpointId);
}

/** Those of these events that are still in the queue: the delivery of each, by its webhook id. */
export async function findQueued(
  queries: Queries,
  merchantId: MerchantId,
  endpointId: number,
  webhookIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (webhookIds.length === 0) return new Map();
  const first = firstOfLane[queries.engine]('$1', 'w.lane', `'reply'`);
  const rows = await queries.all<{ webhook_id: string; delivery_id: number | null }>(
    `select w.webhook_id, ${first} as delivery_id from (${LANES[queries.engine]}) w`,
    [merchantId, JSON.stringify(webhookIds.map((id) => ({ webhook_id: id, lane: laneOf(endpointId, id) })))],
  );
  return new Map(
    rows.flatMap(({ webhook_id, delivery_id }) => (delivery_id === null ? [] : [[webhook_id, delivery_id]])),
  );
}

const LANES: Readonly<Record<Engine, string>> = {
  sqlite: `select value ->> 'webhook_id' as webhook_id, value ->> 'lane' as lane from json_each($2)`,
  postgres: 'select * from json_to_recordset(cast($2 as json)) as lanes (webhook_id text, lane text)',
};

/** These events are sent now, unless they are being sent already. */
export async function hurryEvents(
  tx: Queries,
  merchantId: MerchantId,
  endpointId: number,
  ids: readonly number[],
  at: Date,
): Promise<void> {
  if (ids.length === 0) return;
  const time = at.toISOString();
  await tx.run(
    `update deliveries set due_at = $3 where ${ownIdIn(tx, '$1', '$2')} and state = 'queued' and due_at > $3
      returning id`,
    [merchantId, ids, time],
  );
  await makeQueueDue(tx, merchantId, time, endpointId);
}

const HURRIED_AT_ONCE = 1000;

/**
 * The same for all events that were queued since then. Returns whether there may be more: call it again, in another
 * transaction. What is held behind a copy of the same event stays held.
 */
export async function hurryQueue(
  tx: Queries,
  merchantId: MerchantId,
  endpointId: number,
  { since, at }: { since?: Date; at: Date },
): Promise<boolean> {
  const time = at.toISOString();
  // The condition stands twice: a worker may take one of them before this statement has locked it.
  const waits = `state = 'queued' and due_at > $3 and due_at < '${NEVER}'`;
  const rows = await tx.run(
    `update deliveries set due_at = $3 where merchant_id = $1 and ${waits} and id in (
        select id from deliveries where merchant_id = $1 and endpoint_id = $2 and mode = 'reply' and state in ${OPEN}
          and ${waits} and created_at >= $4
          order by due_at, id limit ${HURRIED_AT_ONCE})
      returning id`,
    [merchantId, endpointId, time, since?.toISOString() ?? ''],
  );
  await makeQueueDue(tx, merchantId, time, endpointId);
  return rows.length === HURRIED_AT_ONCE;
}

/** How many events wait for this endpoint; counts up to `max`. */
export async function countQueued(
  queries: Queries,
  merchantId: MerchantId,
  endpointId: number,
  max: number,
): Promise<number> {
  const row = await queries.one<{ queued: number }>(
    `select count(*) as queued from (select 1 from deliveries where merchant_id = $1 and endpoint_id = $2
      and mode = 'reply' and state in ${OPEN} limit $3) first_ones`,
    [merchantId, endpointId, max],
  );
  return row?.queued ?? 0;
}

/** The same for several queues at once, with their ids. Those without any are absent. */
export async function countQueuedOf(
  queries: Queries,
  merchantId: MerchantId,
  endpointIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (endpointIds.length === 0) return new Map();
  const rows = await queries.all<{ endpoint_id: number; queued: number }>(
    `select endpoint_id, count(*) as queued from deliveries
      where ${ownIdIn(queries, '$1', '$2', 'endpoint_id')} and mode = 'reply' and state in ${OPEN}
      group by endpoint_id`,
    [merchantId, endpointIds],
  );
  return new Map(rows.map(({ endpoint_id, queued }) => [endpoint_id, queued]));
}

/** Like `hurryQueue`, and forgets that the endpoint did not answer: its address may be another now. */
export async function resumeQueue(
  tx: Queries,
  merchantId: MerchantId,
  endpointId: number,
  at: Date,
): Promise<boolean> {
  await removeStop(tx, merchantId, endpointId);
  return hurryQueue(tx, merchantId, endpointId, { at });
}

async function removeStop(tx: Queries, merchantId: MerchantId, endpointId: number): Promise<void> {
  await tx.run('delete from channel_stops where channel_id = $1', [
    endpointChannelId(merchantId, endpointId),
  ]);
}

export const endpointChannelId = (merchantId: MerchantId, endpointId: number) =>
  `${ENDPOINT}:${merchantId}:${endpointId}`;

/** The endpoint is gone. What was sent stays until it expires. */
export async function removeQueue(
  tx: Transaction,
  merchantId: MerchantId,
  endpointId: number,
): Promise<void> {
  await lockLanes(tx, merchantId);
  const rows = await tx.all<{ id: number }>(
    `select id from deliveries where merchant_id = $1 and endpoint_id = $2 and mode = 'reply' and state in ${OPEN}`,
    [merchantId, endpointId],
  );
  await removeDeliveries(
    tx,
    merchantId,
    rows.map(({ id }) => id),
  );
  await removeStop(tx, merchantId, endpointId);
  await tx.run('delete from delivery_queues where merchant_id = $1 and endpoint_id = $2', [
    merchantId,
    endpointId,
  ]);
}

export interface EventDelivery {
  id: number;
  webhook_id: string;
  event_id: number | null;
  type: string;
  state: DeliveryState;
  attempts: number;
  last_code: string | null;
  next_attempt_at: string | null;
  created_at: string;
  updated_at: string;
  history: { at: string; state: DeliveryState; code: string | null }[];
}

/** Newest first, each with its history. */
export async function listEventDeliveries(
  queries: Queries,
  merchantId: MerchantId,
  endpointId: number,
  { beforeId, limit }: { beforeId: number | undefined; limit: number },
): Promise<EventDelivery[]> {
  const rows = await queries.all<Omit<EventDelivery, 'event_id' | 'type' | 'history'> & { context: string }>(
    `select id, reference as webhook_id, context, state, attempts, last_code,
        case when state = 'queued' and due_at < '${NEVER}' then due_at end as next_attempt_at, created_at, updated_at
      from deliveries where merchant_id = $1 and endpoint_id > 0 and endpoint_id = $2
        ${beforeId === undefined ? '' : 'and id < $4'} order by id desc limit $3`,
    [merchantId, endpointId, limit, ...(beforeId === undefined ? [] : [beforeId])],
  );
  const history = await queries.all<{ delivery_id: number } & EventDelivery['history'][number]>(
    `select delivery_id, at, state, code from delivery_events
      where ${ownIdIn(queries, '$1', '$2', 'delivery_id')} order by delivery_id, id`,
    [merchantId, rows.map(({ id }) => id)],
  );
  const byDelivery = Map.groupBy(history, ({ delivery_id }) => delivery_id);
  return rows.map(({ context, ...row }) => ({
    ...row,
    ...(JSON.parse(context) as Pick<EventDelivery, 'event_id' | 'type'>),
    history: (byDelivery.get(row.id) ?? []).map(({ at, state, code }) => ({ at, state, code })),
  }));
}

export async function removeDeliveries(
  tx: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<void> {
  await tx.run(`delete from deliveries where ${ownIdIn(tx, '$1', '$2')}`, [merchantId, ids]);
  const ofThem = ownIdIn(tx, '$1', '$2', 'delivery_id');
  await tx.run(`delete from delivery_events where ${ofThem}`, [merchantId, ids]);
}

const DAY_MS = 24 * 60 * 60_000;
const REMOVED_AT_ONCE = 500;

/** As long as the events themselves are kept. */
export async function removeOldEvents(database: Database, keptDays: number, at: Date): Promise<void> {
  const before = new Date(at.getTime() - keptDays * DAY_MS).toISOString();
  for (;;) {
    const rows = await database.all<{ merchant_id: MerchantId; id: number }>(
      `select merchant_id, id from deliveries where endpoint_id > 0 and created_at < $1 and state not in ${OPEN}
        order by created_at limit ${REMOVED_AT_ONCE}`,
      [before],
    );
    for (const [merchantId, own] of Map.groupBy(rows, ({ merchant_id }) => merchant_id)) {
      const ids = own.map(({ id }) => id);
      await database.transaction((tx) => removeDeliveries(tx, merchantId, ids));
    }
    if (rows.length < REMOVED_AT_ONCE) return;
    await nextTurn();
  }
}
