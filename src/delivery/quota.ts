import type { Limits } from '../contract/delivery.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';

/** The day's limit: distinct customers reached by campaigns and templates in a moving 24 hours. */

const DAY_MS = 24 * 60 * 60_000;
const dayBefore = (at: Date) => new Date(at.getTime() - DAY_MS).toISOString();
const dayAfter = (time: string) => new Date(Date.parse(time) + DAY_MS);

interface PlaceSeeker {
  merchantId: MerchantId;
  id: number;
  key: string;
  recipient: string;
}

export type Place = { taken: true } | { taken: false; freeAt: Date };

/**
 * Takes a place for this customer, or says when one becomes free for it. Places are given in the order of
 * the deliveries: a later one takes a free place only if every earlier one that waits for a place has one
 * left too. Workers ask one after another, so together they never exceed the limit.
 */
export function takePlace(
  database: Database,
  delivery: PlaceSeeker,
  defaultLimit: number,
  at: Date,
): Promise<Place> {
  const take = () => database.transaction((tx) => takePlaceIn(tx, delivery, defaultLimit, at));
  // The embedded database writes one at a time anyway, and several with one commit.
  return database.engine === 'postgres' ? inLine(database, take) : take();
}

/** One at a time in a process: the others would each hold a connection while they wait for the lock. */
function inLine<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const turn = (lines.get(database) ?? Promise.resolve()).then(work);
  lines.set(
    database,
    turn.catch(() => {}),
  );
  return turn;
}
const lines = new WeakMap<Database, Promise<unknown>>();

async function takePlaceIn(
  tx: Transaction,
  { merchantId, id, key, recipient }: PlaceSeeker,
  defaultLimit: number,
  at: Date,
): Promise<Place> {
  await tx.lock(`limit ${merchantId}`);
  const limit = await dailyLimitOf(tx, merchantId, defaultLimit);
  if (!(await hasPlace(tx, merchantId, recipient, at))) {
    const { freeAt } = await firstFree(tx, merchantId, limit, id, at);
    if (freeAt) return { taken: false, freeAt };
  }
  await tx.run(
    `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values ($1, $2, $3, $4)
        on conflict (merchant_id, recipient) do update set reached_at = excluded.reached_at,
          delivery_key = case when reached_customers.reached_at > $5 then reached_customers.delivery_key
            else excluded.delivery_key end`,
    [merchantId, recipient, at.toISOString(), key, dayBefore(at)],
  );
  return { taken: true };
}

/** A message that never went out reached nobody: the place is free again, unless another reached them. */
export async function givePlaceBack(
  queries: Queries,
  merchantId: MerchantId,
  key: string,
  at: Date,
): Promise<void> {
  await queries.run(
    `delete from reached_customers where merchant_id = $1 and delivery_key = $2 and not exists (
      select 1 from deliveries d where d.merchant_id = $1 and d.recipient = reached_customers.recipient
        and d.key <> $2 and d.needs_place = 1 and d.state in ('sending', 'sent', 'delivered', 'read')
        and d.updated_at > $3)`,
    [merchantId, key, dayBefore(at)],
  );
}

/** The merchant's own limit, or the one for all. */
export async function dailyLimitOf(
  queries: Queries,
  merchantId: MerchantId,
  fallback: number,
): Promise<number> {
  const row = await queries.one<{ daily_limit: number | null }>(
    'select daily_limit from channel_settings where merchant_id = $1',
    [merchantId],
  );
  return row?.daily_limit ?? fallback;
}

/** Until when a new delivery to this customer would have to wait, if it would. */
export async function placeOutlook(
  queries: Queries,
  merchantId: MerchantId,
  recipient: string,
  defaultLimit: number,
  at: Date,
): Promise<Date | undefined> {
  if (await hasPlace(queries, merchantId, recipient, at)) return undefined;
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  return (await firstFree(queries, merchantId, limit, Number.MAX_SAFE_INTEGER, at)).freeAt;
}

export async function limitOutlook(
  queries: Queries,
  merchantId: MerchantId,
  defaultLimit: number,
  at: Date,
): Promise<Limits> {
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  const { used, ahead, freeAt } = await firstFree(queries, merchantId, limit, Number.MAX_SAFE_INTEGER, at);
  return { limit, used, waiting: ahead, next_free_at: freeAt?.toISOString() ?? null };
}

/** Whether the customer was reached within the day: one more message to them takes no place. */
async function hasPlace(
  queries: Queries,
  merchantId: MerchantId,
  recipient: string,
  at: Date,
): Promise<boolean> {
  const row = await queries.one(
    'select 1 as has from reached_customers where merchant_id = $1 and recipient = $2 and reached_at > $3',
    [merchantId, recipient, dayBefore(at)],
  );
  return row !== undefined;
}

/**
 * When a delivery with this id gets a place, if not now. The n-th in line gets the place that is the n-th to
 * become free: first those that are taken, then those that the ones ahead take now, and so on day by day.
 */
async function firstFree(
  queries: Queries,
  merchantId: MerchantId,
  limit: number,
  id: number,
  at: Date,
): Promise<{ used: number; ahead: number; freeAt: Date | undefined }> {
  const since = dayBefore(at);
  const row = await queries.one<{ used: number }>(
    'select count(*) as used from reached_customers where merchant_id = $1 and reached_at > $2',
    [merchantId, since],
  );
  const used = row?.used ?? 0;
  const ahead = await waitingAhead(queries, merchantId, id, at);
  const turn = used + ahead - limit;
  if (turn < 0) return { used, ahead, freeAt: undefined };
  const places = Math.max(limit, used);
  const taken = await queries.one<{ reached_at: string }>(
    `select reached_at from reached_customers where merchant_id = $1 and reached_at > $2
      order by reached_at limit 1 offset $3`,
    [merchantId, since, turn % places],
  );
  const takenAt = taken?.reached_at ?? at.toISOString();
  return { used, ahead, freeAt: new Date(dayAfter(takenAt).getTime() + Math.floor(turn / places) * DAY_MS) };
}

/** Customers of earlier deliveries that need a place and have none. */
async function waitingAhead(queries: Queries, merchantId: MerchantId, id: number, at: Date): Promise<number> {
  const row = await queries.one<{ ahead: number }>(
    `select count(distinct d.recipient) as ahead from deliveries d
      where d.merchant_id = $1 and d.id < $2 and d.needs_place = 1 and d.state in ('queued', 'sending', 'waiting')
        and coalesce((select r.reached_at from reached_customers r where r.merchant_id = d.merchant_id
          and r.recipient = d.recipient), '') <= $3`,
    [merchantId, id, dayBefore(at)],
  );
  return row?.ahead ?? 0;
}
