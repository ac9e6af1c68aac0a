import type { Event, EventType } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Engine, Param, Queries, Reads, Transaction } from '../database/database.ts';
import { FOR_UPDATE, idIn, ownIdIn } from '../database/ids.ts';
import { insertRows } from '../database/insert.ts';
import { readOfMerchants } from '../database/ofMerchants.ts';

/** A merchant's events, in the order of their positions. */

const DAY_MS = 24 * 60 * 60_000;
const NUMBER_MAX = 1000;
/** Of one merchant in one round, so that the others get their turn. */
const BATCHES_MAX = 10;
/** Of a merchant. The oldest are removed when new ones are numbered. */
const KEPT_MAX = 100_000;

/** What an event keeps when it gets its position. */
const FIELDS = 'type, at, notification_id, data, content';

/**
 * The condition that a merchant's log has, or will have, events after a position. Not `exists`: PostgreSQL would read all
 * new events of all merchants once instead of one for each.
 */
export const hasEventsAfter = (merchantId: string, position: string) =>
  `((select l.last_position from event_logs l where l.merchant_id = ${merchantId}) > ${position}
    or (select e.seq from new_events e where e.merchant_id = ${merchantId} limit 1) is not null)`;

/** The time of the oldest event of a merchant's log after a position, with or without a position of its own. */
export const oldestEventAfter = (merchantId: string, position: string) =>
  `coalesce((select e.at from events e where e.merchant_id = ${merchantId} and e.position > ${position}
      order by e.position limit 1),
    (select n.at from new_events n where n.merchant_id = ${merchantId} order by n.seq limit 1))`;

/** How many events of each type a merchant's log has, or will have, after a position. */
export const countEventsAfter = (
  queries: Reads,
  merchantId: MerchantId,
  position: number,
): Promise<{ type: string; count: number }[]> =>
  queries.all(
    `select type, count(*) as count from (
        select type from events where merchant_id = $1 and position > $2
        union all select type from new_events where merchant_id = $1) later
      group by type`,
    [merchantId, position],
  );

/** The merchants in $1, each as `id`. */
const MERCHANTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value as id from json_each($1)',
  postgres: 'select unnest(cast($1 as bigint[])) as id',
};

/** Those of the merchants that have events without a position: few, because they get it at each look. */
export async function withNewEvents(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<MerchantId[]> {
  const rows = await queries.all<{ id: MerchantId }>(
    `select distinct merchant_id as id from new_events where ${idIn(queries.engine, 'merchant_id', '$1')}`,
    [merchantIds],
  );
  return rows.map(({ id }) => id);
}

/**
 * Gives the merchant's new events their positions. One transaction at a time does it for a merchant, and it only sees
 * events that are committed. So whoever has read up to a position has missed nothing before it.
 */
export async function numberEvents(database: Database, merchantId: MerchantId): Promise<void> {
  while (await numberBatch(database, merchantId));
}

/** One batch of new events. Returns whether there are more. */
export async function numberBatch(database: Database, merchantId: MerchantId): Promise<boolean> {
  const first = await database.one('select seq from new_events where merchant_id = $1 order by seq limit 1', [
    merchantId,
  ]);
  if (!first) return false;
  const numbered = await database.transaction(async (tx) => {
    await tx.run(
      `insert into event_logs (merchant_id, last_position) values ($1, 0) on conflict (merchant_id) do nothing
        returning merchant_id`,
      [merchantId],
    );
    const log = await tx.one<{ last_position: number }>(
      `select last_position from event_logs where merchant_id = $1 ${FOR_UPDATE[tx.engine]}`,
      [merchantId],
    );
    const rows = await tx.all<{ seq: number }>(
      `select seq from new_events where merchant_id = $1 order by seq limit ${NUMBER_MAX}`,
      [merchantId],
    );
    if (rows.length === 0) return 0;
    // Each by its `seq`, not up to the last: one with a lower `seq` may have been committed meanwhile.
    const seqs = rows.map(({ seq }) => seq);
    await giveNumbers(tx, merchantId, seqs, log!.last_position);
    await tx.run(`delete from new_events where ${ownIdIn(tx, '$1', '$2', 'seq')}`, [merchantId, seqs]);
    const last = log!.last_position + rows.length;
    await tx.run('update event_logs set last_position = $2 where merchant_id = $1', [merchantId, last]);
    await tx.run('delete from events where merchant_id = $1 and position <= $2', [
      merchantId,
      last - KEPT_MAX,
    ]);
    return rows.length;
  });
  return numbered === NUMBER_MAX;
}

/** Reads the events before it writes them: on a cluster, an insert of a select takes a hundred times as long. */
async function giveNumbers(
  tx: Transaction,
  merchantId: MerchantId,
  seqs: readonly number[],
  after: number,
): Promise<void> {
  const rows = await tx.all<Record<string, Param>>(
    `select ${FIELDS} from new_events where ${ownIdIn(tx, '$1', '$2', 'seq')} order by seq`,
    [merchantId, seqs],
  );
  await insertRows(
    tx,
    'events',
    rows.map((row, index) => ({ ...row, merchant_id: merchantId, position: after + index + 1 })),
  );
}

/**
 * Numbers some batches of each merchant that has more new events than that, or one older than a day. So what nobody reads
 * stays bounded and is removed in time, too.
 */
export async function numberUnread(
  database: Database,
  merchantIds: readonly MerchantId[],
  at: Date,
): Promise<void> {
  const yesterday = new Date(at.getTime() - DAY_MS).toISOString();
  for (const id of merchantIds) {
    const row = await database.one<{ waiting: number | null; oldest: string | null }>(
      `select (select seq from new_events where merchant_id = $1 order by seq limit 1 offset ${NUMBER_MAX}) as waiting,
          (select at from new_events where merchant_id = $1 order by seq limit 1) as oldest`,
      [id],
    );
    if (row!.waiting === null && (row!.oldest === null || row!.oldest >= yesterday)) continue;
    for (let left = BATCHES_MAX; left > 0 && (await numberBatch(database, id)); left -= 1);
  }
}

/** The position of each merchant's last event that has one. A merchant without events is absent. */
export async function lastPositions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, number>> {
  const rows = await readOfMerchants<{ merchant_id: MerchantId; last_position: number }>(
    queries,
    merchantIds,
    (isTheirs) => `select merchant_id, last_position from event_logs where ${isTheirs}`,
  );
  return new Map(rows.map(({ merchant_id, last_position }) => [merchant_id, last_position]));
}

export async function lastPosition(queries: Queries, merchantId: MerchantId): Promise<number> {
  const row = await queries.one<{ last_position: number }>(
    'select last_position from event_logs where merchant_id = $1',
    [merchantId],
  );
  return row?.last_position ?? 0;
}

/** Leaves out positions, of merchants whose log has given them to events that are lost. Not on a cluster. */
export async function skipPositions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
  count: number,
): Promise<void> {
  await queries.run(
    `insert into event_logs (merchant_id, last_position)
      select m.id, cast($2 as bigint) from (${MERCHANTS[queries.engine]}) m where true
      on conflict (merchant_id) do update set last_position = event_logs.last_position + excluded.last_position
      returning merchant_id`,
    [merchantIds, count],
  );
}

/**
 * The position before the first event since this time. Searches by halves, because there is no index on merchant
 * and time. Some may have got their positions in another order than their times, so it begins a minute earlier.
 */
export async function positionBefore(queries: Queries, merchantId: MerchantId, since: Date): Promise<number> {
  const from = new Date(since.getTime() - 60_000).toISOString();
  let low = 0;
  let high = await lastPosition(queries, merchantId);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = await queries.one<{ at: string }>(
      `select at from events where merchant_id = $1 and position <= $2 order by position desc limit 1`,
      [merchantId, middle],
    );
    if (row && row.at >= from) high = middle - 1;
    else low = middle;
  }
  return low;
}

export interface LoggedEvent {
  id: number;
  type: EventType;
  at: string;
  /** JSON texts. */
  data: string;
  content: string | null;
  reference: string | null;
  metadata: string | null;
}

const askColumn = (column: 'reference' | 'metadata') =>
  `(select k.${column} from asks k where k.merchant_id = $1 and k.id = e.notification_id)`;

/** Oldest first. Call `numberEvents` before. */
export function readEvents(
  queries: Queries,
  merchantId: MerchantId,
  { after, limit }: { after: number; limit: number },
): Promise<LoggedEvent[]> {
  return queries.all<LoggedEvent>(
    `select e.position as id, e.type, e.at, e.data, e.content, ${askColumn('reference')} as reference,
        ${askColumn('metadata')} as metadata
      from events e where e.merchant_id = $1 and e.position > $2 order by e.position limit $3`,
    [merchantId, after, limit],
  );
}

/** As callers see it. */
export const eventOf = (
  { id, type, at, data, content, reference, metadata }: LoggedEvent,
  withContent: boolean,
): Event => ({
  id,
  type,
  timestamp: at,
  data: {
    ...JSON.parse(data),
    reference,
    metadata: metadata === null ? null : JSON.parse(metadata),
    ...(withContent && content !== null ? JSON.parse(content) : {}),
  },
});
