import type { Limits } from '../contract/delivery.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { customersAhead } from './queue/quotaUse.ts';

/** The daily limit: distinct customers reached by campaigns and templates in the last 24 hours. */

const DAY_MS = 24 * 60 * 60_000;
const dayBefore = (at: Date) => new Date(at.getTime() - DAY_MS).toISOString();
const dayAfter = (time: string) => new Date(Date.parse(time) + DAY_MS);

/** With more deliveries than this ahead, wait for this many and then look again: counting all of them takes too long. */
const AHEAD_MAX = 2000;

interface QuotaUser {
  merchantId: MerchantId;
  id: number;
  key: string;
  recipient: string;
}

export type Reservation = { reserved: true } | { reserved: false; freeAt: Date };

/**
 * Reserves quota for this customer, or returns when some becomes free. The order of the deliveries decides: a later one
 * gets quota only if enough is left for every earlier one that waits for it. Workers reserve one after another, so
 * together they never exceed the limit.
 */
export function reserveQuota(
  database: Database,
  delivery: QuotaUser,
  defaultLimit: number,
  at: Date,
): Promise<Reservation> {
  const reserve = () => database.transaction((tx) => reserveIn(tx, delivery, defaultLimit, at));
  // SQLite writes one at a time anyway, and can write several in one commit.
  return database.engine === 'postgres' ? serialize(database, delivery.merchantId, reserve) : reserve();
}

/** One at a time per merchant: otherwise each of the others would hold a connection while it waits for the lock. */
function serialize<T>(database: Database, merchantId: MerchantId, work: () => Promise<T>): Promise<T> {
  const lasts = lastReservations.get(database) ?? new Map<MerchantId, Promise<unknown>>();
  lastReservations.set(database, lasts);
  const turn = (lasts.get(merchantId) ?? Promise.resolve()).then(work);
  const last = turn
    .catch(() => {})
    .then(() => {
      if (lasts.get(merchantId) === last) lasts.delete(merchantId);
    });
  lasts.set(merchantId, last);
  return turn;
}
const lastReservations = new WeakMap<Database, Map<MerchantId, Promise<unknown>>>();

async function reserveIn(
  tx: Transaction,
  { merchantId, id, key, recipient }: QuotaUser,
  defaultLimit: number,
  at: Date,
): Promise<Reservation> {
  await tx.lock(`limit ${merchantId}`);
  const limit = await dailyLimitOf(tx, merchantId, defaultLimit);
  if (!(await wasReached(tx, merchantId, recipient, at))) {
    const { freeAt } = await firstFree(tx, merchantId, limit, id, at);
    if (freeAt) return { reserved: false, freeAt };
  }
  await tx.run(
    `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values ($1, $2, $3, $4)
        on conflict (merchant_id, recipient) do update set reached_at = excluded.reached_at,
          delivery_key = case when reached_customers.reached_at > $5 then reached_customers.delivery_key
            else excluded.delivery_key end`,
    [merchantId, recipient, at.toISOString(), key, dayBefore(at)],
  );
  return { reserved: true };
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

/** When a new delivery to this customer could be sent, if not now. */
export async function quotaFreeAt(
  queries: Queries,
  merchantId: MerchantId,
  recipient: string,
  defaultLimit: number,
  at: Date,
): Promise<Date | undefined> {
  if (await wasReached(queries, merchantId, recipient, at)) return undefined;
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  return (await firstFree(queries, merchantId, limit, Number.MAX_SAFE_INTEGER, at)).freeAt;
}

export async function readQuota(
  queries: Queries,
  merchantId: MerchantId,
  defaultLimit: number,
  at: Date,
): Promise<Limits> {
  const limit = await dailyLimitOf(queries, merchantId, defaultLimit);
  const { used, ahead, freeAt } = await firstFree(queries, merchantId, limit, Number.MAX_SAFE_INTEGER, at);
  return { limit, used, waiting: ahead, next_free_at: freeAt?.toISOString() ?? null };
}

/** Whether the customer was reached within the day: one more message to them uses no quota. */
async function wasReached(
  queries: Queries,
  merchantId: MerchantId,
  recipient: string,
  at: Date,
): Promise<boolean> {
  const row = await queries.one(
    'select 1 as reached from reached_customers where merchant_id = $1 and recipient = $2 and reached_at > $3',
    [merchantId, recipient, dayBefore(at)],
  );
  return row !== undefined;
}

/**
 * When a delivery with this id gets quota, if not now. Every reached customer frees a unit after a day. The n-th
 * delivery in line gets the n-th unit that becomes free: first the units in use now, then those that the deliveries
 * ahead will use, day by day.
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
  const ahead = await customersAhead(queries, merchantId, id, since, Math.max(AHEAD_MAX, limit - used + 1));
  const turn = used + ahead - limit;
  if (turn < 0) return { used, ahead, freeAt: undefined };
  const units = Math.max(limit, used);
  const taken = await queries.one<{ reached_at: string }>(
    `select reached_at from reached_customers where merchant_id = $1 and reached_at > $2
      order by reached_at limit 1 offset $3`,
    [merchantId, since, turn % units],
  );
  const takenAt = taken?.reached_at ?? at.toISOString();
  return { used, ahead, freeAt: new Date(dayAfter(takenAt).getTime() + Math.floor(turn / units) * DAY_MS) };
}
