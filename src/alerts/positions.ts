import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries } from '../database/database.ts';
import { hasEventsAfter, lastPosition, numberEvents } from '../events/log.ts';
import type { JobKey } from '../jobs/job.ts';

/** How far the alerts of each merchant have got, and when somebody last looked: the only SQL on alert_logs. */

/** From now on the merchant's events are looked at. Whoever turns alerts on has seen what waits. */
export async function followEvents(database: Database, merchantId: MerchantId, at: Date): Promise<void> {
  const known = await database.one('select merchant_id from alert_logs where merchant_id = $1', [merchantId]);
  if (known) return;
  await numberEvents(database, merchantId);
  await database.run(
    `insert into alert_logs (merchant_id, position, looked_at) values ($1, $2, $3)
      on conflict (merchant_id) do nothing`,
    [merchantId, await lastPosition(database, merchantId), at.toISOString()],
  );
}

/** Those with new events, after the given merchant. */
export const listDue = (queries: Queries, after: number, limit: number): Promise<JobKey[]> =>
  queries.all(
    `select merchant_id from alert_logs
      where merchant_id > $1 and ${hasEventsAfter('alert_logs.merchant_id', 'alert_logs.position')}
      order by merchant_id limit $2`,
    [after, limit],
  );

export async function findPosition(queries: Queries, merchantId: MerchantId): Promise<number | undefined> {
  const row = await queries.one<{ position: number }>(
    'select position from alert_logs where merchant_id = $1',
    [merchantId],
  );
  return row?.position;
}

/** False if another worker was faster. */
export async function movePosition(
  tx: Queries,
  merchantId: MerchantId,
  from: number,
  to: number,
): Promise<boolean> {
  const rows = await tx.run(
    'update alert_logs set position = $3 where merchant_id = $1 and position = $2 returning merchant_id',
    [merchantId, from, to],
  );
  return rows.length > 0;
}

const LOOKED_EVERY_MS = 30_000;
const REMEMBERED_MAX = 10_000;

/** Notes that somebody looks at the inbox: at most one write in half a minute. */
export function createNoteLooked(database: Database): (merchantId: MerchantId, at: Date) => Promise<void> {
  const noted = new LRUCache<MerchantId, number>({ max: REMEMBERED_MAX });
  return async (merchantId, at) => {
    if (at.getTime() - (noted.get(merchantId) ?? 0) < LOOKED_EVERY_MS) return;
    noted.set(merchantId, at.getTime());
    await database.run(
      'update alert_logs set looked_at = $2 where merchant_id = $1 and (looked_at is null or looked_at < $2)',
      [merchantId, at.toISOString()],
    );
  };
}

export async function lastLooked(queries: Queries, merchantId: MerchantId): Promise<string | undefined> {
  const row = await queries.one<{ looked_at: string | null }>(
    'select looked_at from alert_logs where merchant_id = $1',
    [merchantId],
  );
  return row?.looked_at ?? undefined;
}
