import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine, Queries } from '../../database/database.ts';
import { idIn, ownIdIn } from '../../database/ids.ts';
import { wakeAll } from './release.ts';
import { waitForStatus } from './settle.ts';
import { firstOfLane, isNotErased, NEVER, notificationIdOf, OPEN, type Queue, REST_MAX_MS } from './table.ts';

/**
 * How a worker gets its messages. It reads without locks, first the queues, then the messages of one queue, and takes
 * them by compare-and-set, one queue at a time. So workers never wait for each other, and the tables can
 * be sharded by merchant.
 */

export interface Claimed extends Queue {
  id: number;
  key: string;
  notification_id: number | null;
  conversation_id: number;
  reference: string | null;
  context: string;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  attempts: number;
  /** The end of the lease. Together with `attempts` it identifies this claim. */
  due_at: string;
  channel_id: string | null;
  created_at: string;
  /** The channel's id of the customer's message that it quotes. */
  reply_to_message: string | null;
  /** The trace of the request that wrote it. */
  traceparent: string | null;
}

export const CLAIMED_COLUMNS = `id, merchant_id, endpoint_id, key, ${notificationIdOf()} as notification_id, conversation_id,
  reference, context, recipient, mode, content, attempts, due_at, channel_id, created_at, reply_to_message,
  traceparent`;

/** How many queues one look returns. */
export const QUEUES_MAX = 64;
/** How many due messages of each lane one turn looks at. */
const LOOK_MAX = 32;

export interface DueQueue extends Queue {
  due_at: string;
}

/** Nothing is sent for a merchant that is being deleted. */
const IS_ACTIVE = `(select m.deleting_at from merchants m where m.id = delivery_queues.merchant_id) is null`;

/** The queues with something due, longest waiting first, starting after the given one. */
export function dueQueues(queries: Queries, at: Date, after: DueQueue | undefined): Promise<DueQueue[]> {
  return queries.all<DueQueue>(
    `select merchant_id, endpoint_id, due_at from delivery_queues
      where due_at <= $1 and (due_at, merchant_id, endpoint_id) > ($2, $3, $4)
        and ${IS_ACTIVE}
      order by due_at, merchant_id, endpoint_id limit ${QUEUES_MAX}`,
    [at.toISOString(), after?.due_at ?? '', after?.merchant_id ?? 0, after?.endpoint_id ?? 0],
  );
}

/** When the next message is due, if there is one. */
export async function nextDueAt(queries: Queries): Promise<string | undefined> {
  const row = await queries.one<{ due_at: string }>(
    `select due_at from delivery_queues where due_at < $1 and ${IS_ACTIVE} order by due_at limit 1`,
    [NEVER],
  );
  return row?.due_at;
}

export interface Turn {
  /** The channel that the messages will be sent through. */
  channelId: string;
  /** Whether a channel reports in a status what happened to a message. */
  reportsStatus: (channelId: string) => boolean;
  max: number;
  campaignsMax: number;
  at: Date;
  leaseUntil: Date;
}

export interface Claim {
  claimed: Claimed[];
  /** What is still due: nothing, messages that this look did not see, or messages for which there is no slot. */
  left: 'none' | 'unseen' | 'capped';
}

/** Claims the due messages of one queue until the lease ends, replies first. */
export async function claimOf(database: Database, queue: Queue, turn: Turn): Promise<Claim> {
  const merchantId = queue.merchant_id;
  const { version, rows, nextAt, isStopped } = await look(database, queue, turn);
  if (version === undefined) return { claimed: [], left: 'none' };
  // A status has stopped the channel since the worker looked: the next claim sees it.
  if (isStopped) return { claimed: [], left: 'unseen' };
  const blocked = rows.filter((row) => row.id !== row.first_id);
  const first = rows.filter((row) => row.id === row.first_id);
  // The worker that sent these is gone. The channel will report what happened to them.
  const unreported = first.filter(
    (row) => isLost(row) && turn.reportsStatus(row.channel_id ?? turn.channelId),
  );
  const ready = first.filter((row) => !unreported.includes(row));
  const replies = ready.filter(({ mode }) => mode === 'reply').slice(0, turn.max);
  const campaigns = ready
    .filter(({ mode }) => mode === 'campaign')
    .slice(0, Math.max(0, Math.min(turn.max - replies.length, turn.campaignsMax)));
  const wanted = [...replies, ...campaigns];

  if (blocked.length > 0) await block(database, merchantId, blocked);
  if (unreported.length > 0)
    await waitForStatus(database, merchantId, {
      deliveries: unreported,
      channelId: turn.channelId,
      at: turn.at,
    });
  const isCapped = ready.length > wanted.length;
  const left = isCapped ? 'capped' : rows.length >= LOOK_MAX ? 'unseen' : 'none';
  // Nothing to write: it stays due until there is a slot.
  if (isCapped && wanted.length === 0) return { claimed: [], left };
  // If another worker was faster, its lease ends about when ours would.
  const leaseEnd = wanted.length > 0 ? turn.leaseUntil.toISOString() : undefined;
  // A merchant with more to send goes to the end of the line, after the others.
  const dueAt = left === 'none' ? earliest(nextAt, leaseEnd) : turn.at.toISOString();
  if (wanted.length === 0) {
    await moveQueue(database, queue, { version, dueAt });
    return { claimed: [], left };
  }
  const ids = wanted.map(({ id }) => id);
  return { claimed: await take(database, queue, { ids, version, dueAt, ...turn }), left };
}

interface DueRow {
  id: number;
  mode: 'reply' | 'campaign';
  state: 'queued' | 'sending' | 'waiting';
  channel_id: string | null;
  unsettled_since: string | null;
  /** The first open message of the lane: the only one that may be sent. */
  first_id: number;
}

/** Its lease ran out while it was being sent. */
const isLost = ({ state, unsettled_since }: DueRow) => state === 'sending' && unsettled_since === null;

async function look(queries: Queries, queue: Queue, { channelId, at }: Turn) {
  // With a lower bound PostgreSQL expects few rows whatever $2 is, and plans this once. Without it, it plans every look
  // again where many messages are blocked, which takes a millisecond.
  const dueOf = (mode: string) => `select * from (
    select id, recipient, mode, state, channel_id, unsettled_since, due_at from deliveries
      where merchant_id = $1 and endpoint_id = $3 and mode = '${mode}' and state in ${OPEN}
        and due_at > '' and due_at <= $2
      order by due_at, id limit ${LOOK_MAX}) due_${mode}`;
  const nextOf = (mode: string) => `(select min(due_at) from deliveries
      where merchant_id = $1 and endpoint_id = $3 and mode = '${mode}' and state in ${OPEN} and due_at > $2) as next_${mode}`;
  // A left join, so that the version is returned even if no message is due.
  const rows = await queries.all<DueRow & { version: string; next_reply: string; next_campaign: string }>(
    `select q.version, ${nextOf('reply')}, ${nextOf('campaign')}, d.id, d.mode, d.state, d.channel_id,
        d.unsettled_since, ${firstOfLane[queries.engine]('$1', 'd.recipient', 'd.mode')} as first_id
      from delivery_queues q left join (${dueOf('reply')} union all ${dueOf('campaign')}) d on true
      where q.merchant_id = $1 and q.endpoint_id = $3 order by d.due_at, d.id`,
    [queue.merchant_id, at.toISOString(), queue.endpoint_id],
  );
  const [firstRow] = rows;
  return {
    version: firstRow?.version,
    // After the messages: whoever stops a channel because of a message writes both in one transaction.
    isStopped: await isRefused(queries, channelId, at),
    nextAt: earliest(firstRow?.next_reply, firstRow?.next_campaign),
    rows: rows.filter(({ id }) => id !== null),
  };
}

/** In a statement of its own: on a cluster, the stops are on another node than the messages. */
const isRefused = async (queries: Queries, channelId: string, at: Date): Promise<boolean> =>
  (await queries.one(
    `select 1 as stopped from channel_stops where channel_id = $1 and kind = 'refused' and until > $2`,
    [channelId, at.toISOString()],
  )) !== undefined;

const earliest = (...times: (string | null | undefined)[]): string =>
  times.filter((time) => time != null).sort()[0] ?? NEVER;

type Taking = Turn & { ids: readonly number[]; version: string; dueAt: string };

/**
 * Takes the messages and moves the queue. A claimed message is due again when the lease ends. Of two workers the first gets
 * it, and the second gets nothing.
 */
const take = (
  database: Database,
  queue: Queue,
  { ids, channelId, at, leaseUntil, version, dueAt }: Taking,
): Promise<Claimed[]> =>
  database.transaction(async (tx) => {
    const taken = await tx.run<Claimed>(
      `update deliveries set state = 'sending', attempts = attempts + 1, channel_id = $3,
          unsettled_since = null, waiting_for = null, due_at = $4, updated_at = $5
        where ${ownIdIn(tx, '$1', '$2')} and state in ${OPEN} and due_at <= $5
          and (endpoint_id > 0 or ${isNotErased('deliveries', '$1')})
        returning ${CLAIMED_COLUMNS}`,
      [queue.merchant_id, ids, channelId, leaseUntil.toISOString(), at.toISOString()],
    );
    await moveQueue(tx, queue, { version, dueAt });
    return taken.sort((a, b) => a.id - b.id);
  });

const SHARED: Record<Engine, string> = { sqlite: '', postgres: 'for share' };

/**
 * Hides messages from further looks until the first of their lane is finished, which makes the next one due. So each
 * is read only once. The first is locked here, so it cannot finish between the look and this statement.
 */
const block = (database: Database, merchantId: MerchantId, rows: readonly DueRow[]): Promise<void> =>
  database.transaction(async (tx) => {
    const firstIds = [...new Set(rows.map(({ first_id }) => first_id))];
    await tx.all(
      `select id from deliveries where ${ownIdIn(tx, '$1', '$2')} and state in ${OPEN} order by id ${SHARED[tx.engine]}`,
      [merchantId, firstIds],
    );
    await tx.write(
      `update deliveries set due_at = '${NEVER}'
        where ${ownIdIn(tx, '$1', '$3')} and state in ('queued', 'waiting')
          and exists (select 1 from deliveries f where f.merchant_id = $1 and ${idIn(tx.engine, 'f.id', '$2')}
            and f.state in ${OPEN} and f.recipient = deliveries.recipient and f.mode = deliveries.mode
            and f.id < deliveries.id)`,
      [merchantId, firstIds, rows.map(({ id }) => id)],
    );
  });

/** Does nothing if something has changed since the look: that change has set when the queue is due. */
async function moveQueue(
  queries: Queries,
  queue: Queue,
  { version, dueAt }: { version: string; dueAt: string },
): Promise<void> {
  await queries.write(
    'update delivery_queues set due_at = $4 where merchant_id = $1 and endpoint_id = $2 and version = $3',
    [queue.merchant_id, queue.endpoint_id, version, dueAt],
  );
}

/**
 * Makes queues due that rest although they have due messages: their channel is no longer in the settings, or somebody
 * has changed the tables by hand. Called when a worker starts.
 */
export async function wakeLateQueues(database: Database, at: Date): Promise<void> {
  const rows = await database.all<Queue>(
    `select q.merchant_id, q.endpoint_id from delivery_queues q where q.due_at > $1 and exists (
        select 1 from deliveries d where d.merchant_id = q.merchant_id and d.endpoint_id = q.endpoint_id
          and d.mode in ('reply', 'campaign') and d.state in ${OPEN} and d.due_at <= $1)
      order by q.merchant_id, q.endpoint_id`,
    [at.toISOString()],
  );
  await wakeAll(database, rows, at);
}

interface Rest {
  until: string;
  at: Date;
  /** The channel that is stopped. Absent if the queue rests for another reason. */
  stoppedChannel?: string;
  /** Whether the reason still holds. */
  isStill: () => Promise<boolean>;
}

/** A queue rests while its channel is not used. This changes one row, no matter how many messages wait. */
export async function restQueue(
  database: Database,
  { merchant_id: merchantId, endpoint_id: endpointId }: Queue,
  { until, at, stoppedChannel, isStill }: Rest,
): Promise<void> {
  // In this order: a change of the reason also changes the version, and then this does nothing.
  const row = await database.one<{ version: string }>(
    'select version from delivery_queues where merchant_id = $1 and endpoint_id = $2',
    [merchantId, endpointId],
  );
  if (!row || !(await isStill())) return;
  const latest = new Date(at.getTime() + REST_MAX_MS).toISOString();
  const dueAt = until < latest ? until : latest;
  const queue = { merchant_id: merchantId, endpoint_id: endpointId };
  const move = (queries: Queries) => moveQueue(queries, queue, { version: row.version, dueAt });
  if (stoppedChannel === undefined) return move(database);
  // Checked with the change: a channel that is resumed at this moment wakes only queues that already rest.
  await database.transaction(async (tx) => {
    const stop = `select channel_id from channel_stops where channel_id = $1 ${SHARED[tx.engine]}`;
    if (await tx.one(stop, [stoppedChannel])) await move(tx);
  });
}
