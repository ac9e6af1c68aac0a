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
  const reached = await reachedCustomers(tx, merchantId, at);
  const already = reached.some((row) => row.recipient === recipient);
  if (!already) {
    const ahead = await waitingAhead(tx, merchantId, id, at);
    if (reached.length + ahead >= limit) return { taken: false, freeAt: freeAt(reached, limit, ahead, at) };
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

/** A message that never went out reached nobody: its customer's place is free again. */
export async function givePlaceBack(queries: Queries, merchantId: MerchantId, key: string): Promise<void> {
  await queries.run('delete from reached_customers where merchant_id = $1 and delivery_key = $2', [
    merchantId,
    key,
  ]);
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
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  const reached = await reachedCustomers(queries, merchantId, at);
  if (reached.some((row) => row.recipient === recipient)) return undefined;
  const ahead = await waitingAhead(queries, merchantId, Number.MAX_SAFE_INTEGER, at);
  return reached.length + ahead < limit ? undefined : freeAt(reached, limit, ahead, at);
}

export async function limitOutlook(
  queries: Queries,
  merchantId: MerchantId,
  defaultLimit: number,
  at: Date,
): Promise<Limits> {
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  const reached = await reachedCustomers(queries, merchantId, at);
  const waiting = await waitingAhead(queries, merchantId, Number.MAX_SAFE_INTEGER, at);
  const full = reached.length + waiting >= limit;
  return {
    limit,
    used: reached.length,
    waiting,
    next_free_at: full ? freeAt(reached, limit, waiting, at).toISOString() : null,
  };
}

/** Who has a place, the first to give it back first. */
function reachedCustomers(queries: Queries, merchantId: MerchantId, at: Date) {
  return queries.all<{ recipient: string; reached_at: string }>(
    `select recipient, reached_at from reached_customers where merchant_id = $1 and reached_at > $2
      order by reached_at`,
    [merchantId, dayBefore(at)],
  );
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

/**
 * The n-th in line gets the place that is the n-th to become free: first those that are taken, then those
 * that the ones ahead take now, and so on day by day.
 */
function freeAt(reached: readonly { reached_at: string }[], limit: number, ahead: number, at: Date): Date {
  const turn = Math.max(0, reached.length + ahead - limit);
  const places = Math.max(limit, reached.length);
  const takenAt = reached[turn % places]?.reached_at ?? at.toISOString();
  return new Date(dayAfter(takenAt).getTime() + Math.floor(turn / places) * DAY_MS);
}
