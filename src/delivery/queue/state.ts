import type { MerchantId } from '../../contract/ids.ts';
import type { Queries, Reads } from '../../database/database.ts';
import { ENDPOINT, MESSAGES, NEVER, OPEN, PUSH_QUEUES } from './table.ts';

/** The messages to customers as a whole, for the operator. */
export interface QueueState {
  /** Ready to be sent by a worker. */
  queued: number;
  waitingForLimit: number;
  waitingForCustomer: number;
  /** When the oldest of the queued ones was written. */
  oldestAt: string | undefined;
  /** Since when a merchant's queue has been due without a worker taking it. */
  dueSince: string | undefined;
}

export async function readQueueState(queries: Queries, at: Date): Promise<QueueState> {
  const row = await queries.one<
    Record<'queued' | 'limit_waits' | 'customer_waits', number> & { oldest: string }
  >(
    `select count(case when state <> 'waiting' then 1 end) as queued,
        count(case when waiting_for = 'limit' then 1 end) as limit_waits,
        count(case when waiting_for = 'customer' then 1 end) as customer_waits,
        min(case when state <> 'waiting' then created_at end) as oldest
      from deliveries where state in ${OPEN} and endpoint_id = 0`,
  );
  return {
    queued: row?.queued ?? 0,
    waitingForLimit: row?.limit_waits ?? 0,
    waitingForCustomer: row?.customer_waits ?? 0,
    oldestAt: row?.oldest ?? undefined,
    dueSince: await firstDue(queries, at),
  };
}

/** A scrape must stay cheap when a million messages wait: it counts no further than this. */
const COUNTED_MAX = 10_000;
/** How many merchants' queues it looks at, those that are due first. */
const QUEUES_MAX = 1000;

/** How many channels are in a state: `open` and `half_open` of the circuit breaker, or `stopped`, which refuse us. */
export interface ChannelsInState {
  type: string;
  state: 'open' | 'half_open' | 'stopped';
  count: number;
}

/** The age of the oldest message of one merchant that waits neither for the limit nor for the customer. */
export interface QueueAge {
  merchantId: MerchantId;
  seconds: number;
}

/** For the metrics. */
export async function readQueueFigures(queries: Reads, at: Date) {
  // The plus keeps SQLite from an index of all messages to customers, sent ones included.
  const row = await queries.one<{ open: number }>(
    `select count(*) as open from (
      select 1 from deliveries where state in ${OPEN} and +endpoint_id = 0 limit ${COUNTED_MAX}) counted`,
  );
  const channels = await readChannelStates(queries, at);
  const own = channels.filter(({ type }) => type !== ENDPOINT);
  const countOf = (...states: ChannelsInState['state'][]) =>
    own.reduce((sum, { state, count }) => (states.includes(state) ? sum + count : sum), 0);
  const ages = await readQueueAges(queries, at);
  const due = await firstDue(queries, at);
  return {
    open: row?.open ?? 0,
    oldestSeconds: ages[0]?.seconds ?? 0,
    overdueSeconds: due === undefined ? 0 : secondsSince(due, at),
    breakersOpen: countOf('open', 'half_open'),
    channelsStopped: countOf('stopped'),
    channels,
    ages,
  };
}

/**
 * Since when a queue and a message in it have been due. A queue alone says too little: after its last message was sent,
 * it stays due at the end of that message's lease, until a worker looks again.
 */
async function firstDue(queries: Reads, at: Date): Promise<string | undefined> {
  const firstOf = (mode: string) => `(select d.due_at from deliveries d
      where d.merchant_id = q.merchant_id and d.endpoint_id = q.endpoint_id and d.mode = '${mode}'
        and d.state in ${OPEN} and d.due_at <= $1 order by d.due_at limit 1)`;
  const rows = await queries.all<{ due_at: string; reply: string | null; campaign: string | null }>(
    `select q.due_at, ${firstOf('reply')} as reply, ${firstOf('campaign')} as campaign
      from delivery_queues q where q.due_at <= $1 order by q.due_at limit ${QUEUES_MAX}`,
    [at.toISOString()],
  );
  return rows
    .flatMap(({ due_at: queueDue, reply, campaign }) => {
      const [first] = [reply, campaign].filter((time) => time !== null).sort();
      return first === undefined ? [] : [first > queueDue ? first : queueDue];
    })
    .sort()[0];
}

const secondsSince = (time: string, at: Date) => Math.max(0, (at.getTime() - Date.parse(time)) / 1000);

/** Of each type of channel, including the merchants' webhook endpoints. */
async function readChannelStates(queries: Reads, at: Date): Promise<ChannelsInState[]> {
  const rows = await queries.all<{ channel_id: string; kind: string; until: string }>(
    `select channel_id, kind, until from channel_stops where until > $1 or kind = 'not_answering'
      limit ${COUNTED_MAX}`,
    [at.toISOString()],
  );
  const counts = new Map<string, ChannelsInState>();
  for (const { channel_id, kind, until } of rows) {
    const [type = ''] = channel_id.split(':', 1);
    const state = kind === 'refused' ? 'stopped' : until > at.toISOString() ? 'open' : 'half_open';
    const key = `${type} ${state}`;
    counts.set(key, { type, state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/** Oldest first. */
async function readQueueAges(queries: Reads, at: Date): Promise<QueueAge[]> {
  // Ids grow with time, so the first row of the index is the oldest. `min(created_at)` would read a whole backlog.
  const firstIn = (state: string) => `(select d.created_at from deliveries d
      where d.merchant_id = q.merchant_id and d.state = '${state}' and d.endpoint_id = 0 order by d.id limit 1)`;
  const rows = await queries.all<{ merchant_id: MerchantId; queued: string | null; sending: string | null }>(
    `select q.merchant_id, ${firstIn('queued')} as queued, ${firstIn('sending')} as sending
      from delivery_queues q where q.due_at < '${NEVER}' and q.endpoint_id = 0
      order by q.due_at limit ${QUEUES_MAX}`,
  );
  return rows
    .flatMap(({ merchant_id: merchantId, queued, sending }) => {
      const oldest = [queued, sending].filter((time) => time !== null).sort()[0];
      return oldest === undefined ? [] : [{ merchantId, seconds: secondsSince(oldest, at) }];
    })
    .sort((a, b) => b.seconds - a.seconds);
}

/** What workers will send, by what it is. */
export async function countOpen(
  queries: Queries,
): Promise<Record<'messages' | 'webhooks' | 'alerts', number>> {
  const row = await queries.one<Record<'messages' | 'webhooks' | 'alerts', number>>(
    `select count(case when endpoint_id = ${MESSAGES} then 1 end) as messages,
        count(case when endpoint_id > ${MESSAGES} and endpoint_id < ${PUSH_QUEUES} then 1 end) as webhooks,
        count(case when endpoint_id >= ${PUSH_QUEUES} then 1 end) as alerts
      from deliveries where state in ${OPEN}`,
  );
  return row!;
}

export interface OpenOfMerchant {
  merchantId: MerchantId;
  messages: number;
}

/** The merchants with the most messages to send. Reads all of those, so it is for a database that is not in use. */
export async function mostOpen(queries: Queries, limit: number): Promise<OpenOfMerchant[]> {
  const rows = await queries.all<{ merchant_id: MerchantId; messages: number }>(
    `select merchant_id, count(*) as messages from deliveries where state in ${OPEN} and endpoint_id = ${MESSAGES}
      group by merchant_id order by messages desc, merchant_id limit $1`,
    [limit],
  );
  return rows.map(({ merchant_id: merchantId, messages }) => ({ merchantId, messages }));
}
