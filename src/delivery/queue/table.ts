import { randomBytes } from 'node:crypto';
import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Engine } from '../../database/database.ts';

/** What every statement on `deliveries` and `delivery_queues` shares. */

export type DeliveryState = Delivery['state'];

/** Not finished yet. As literals, so that the partial indexes serve the statements. */
export const OPEN = `('queued', 'sending', 'waiting')`;

/** The `due_at` of a message that something else makes due: a customer who writes, an earlier message that is done. */
export const NEVER = '9999-12-31T00:00:00.000Z';

/**
 * The first open message of a lane, as a sub-select. On PostgreSQL not as `min(id)`: for that it may walk through all
 * of the merchant's deliveries by id. The order below fits one index only, which leads to the row at once.
 */
export const firstOfLane: Record<Engine, (recipient: string, mode: string) => string> = {
  sqlite: (recipient, mode) =>
    `(select min(f.id) from deliveries f
      where f.merchant_id = $1 and f.recipient = ${recipient} and f.mode = ${mode} and f.state in ${OPEN})`,
  postgres: (recipient, mode) =>
    `(select case when f.recipient = ${recipient} and f.mode = ${mode} then f.id end from deliveries f
      where f.merchant_id = $1 and (f.recipient, f.mode, f.id) >= (${recipient}, ${mode}, 0) and f.state in ${OPEN}
      order by f.recipient, f.mode, f.id limit 1)`,
};

/** A queue rests no longer than this at a time, so that one that was left resting by a race goes on soon. */
export const REST_MAX_MS = 5 * 60_000;

/**
 * Records that a merchant's deliveries have changed, and makes the queue due at `dueAt` unless it is due earlier. With
 * `nowIfAny` it is due at `at` if that step of the same statement gave a row. Locks the version row, so it comes last.
 */
export const queueStep = (
  merchantId: MerchantId,
  dueAt: string,
  { nowIfAny, at = dueAt }: { nowIfAny?: string; at?: string } = {},
): Step => ({
  name: 'queue',
  sql: `insert into delivery_queues (merchant_id, due_at, version)
    values (cast($1 as bigint), ${nowIfAny ? `case when exists (select 1 from ${nowIfAny}) then $4 else $2 end` : '$2'}, $3)
    ${ON_QUEUE_CONFLICT}`,
  params: [merchantId, dueAt, newVersion(), ...(nowIfAny ? [at] : [])],
});

const ON_QUEUE_CONFLICT = `on conflict (merchant_id) do update set version = excluded.version,
    due_at = case when delivery_queues.due_at < excluded.due_at then delivery_queues.due_at else excluded.due_at end
  returning merchant_id`;

const newVersion = () => randomBytes(12).toString('hex');

/**
 * The same for new deliveries, which the step `delivery` gives as `merchant_id`, `due_at` and `key`. A key is random and
 * never used again, so it is the version. Answers that share a statement share this step.
 */
export const newDeliveriesQueueStep: Step = {
  name: 'queue',
  after: 'delivery',
  shared: true,
  // Without a condition SQLite takes `on` for that of a join.
  sql: `insert into delivery_queues (merchant_id, due_at, version)
    select merchant_id, min(due_at), max(key) from delivery where true group by merchant_id order by merchant_id
    ${ON_QUEUE_CONFLICT}`,
  params: [],
};

/** `($3, $4), ($5, $6)`: a list of rows for VALUES, behind so many other parameters. `casts` names the types. */
export function valueRows(rows: number, casts: readonly (string | undefined)[], behind: number): string {
  let position = behind;
  const row = () =>
    casts.map((type) => (type ? `cast($${++position} as ${type})` : `$${++position}`)).join(', ');
  return Array.from({ length: rows }, () => `(${row()})`).join(', ');
}
