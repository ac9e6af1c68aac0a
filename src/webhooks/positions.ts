import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Reads } from '../database/database.ts';
import { countEventsAfter, hasEventsAfter, oldestEventAfter } from '../events/log.ts';
import type { JobKey } from '../jobs/job.ts';
import type { Endpoint } from './store.ts';

/** How far each endpoint has got in the log of events, and in a replay. */

/** Those that are turned on and have something to do, after the given one. */
export const listDue = (queries: Queries, after: JobKey | undefined, limit: number): Promise<JobKey[]> =>
  queries.all(
    `select merchant_id, id as endpoint_id from webhook_endpoints
      where enabled = 1 and (merchant_id, id) > ($1, $2)
        and (replay_position is not null or ${hasEventsAfter('webhook_endpoints.merchant_id', 'webhook_endpoints.position')})
      order by merchant_id, id limit $3`,
    [after?.merchant_id ?? 0, after?.endpoint_id ?? 0, limit],
  );

/** A scrape must stay cheap: it looks at no more endpoints than this. */
const LAG_ENDPOINTS_MAX = 5000;

/**
 * For the metrics: when the oldest event happened that is not in the queue of its endpoint yet. Not of endpoints that
 * fail: their events wait for them, not for us.
 */
export async function oldestUndispatched(queries: Reads): Promise<string | undefined> {
  const row = await queries.one<{ oldest: string | null }>(
    `select min(oldest) as oldest from (
      select ${oldestEventAfter('w.merchant_id', 'w.position')} as oldest from webhook_endpoints w
        where w.enabled = 1 and w.failing_since is null
        order by w.merchant_id, w.id limit ${LAG_ENDPOINTS_MAX}) looked_at`,
  );
  return row?.oldest ?? undefined;
}

/** How many events are not in the queue of their endpoint yet, without replays. For commands. */
export async function countUndispatched(queries: Reads): Promise<number> {
  const endpoints = await queries.all<Pick<Endpoint, 'merchant_id' | 'position'> & { events: string | null }>(
    'select merchant_id, position, events from webhook_endpoints where enabled = 1',
  );
  let sum = 0;
  for (const { merchant_id, position, events } of endpoints) {
    const wanted = events === null ? null : (JSON.parse(events) as string[]);
    for (const { type, count } of await countEventsAfter(queries, merchant_id, position))
      if (wanted === null || wanted.includes(type)) sum += count;
  }
  return sum;
}

/** False if another worker was faster, or the endpoint is turned off or gone. */
export async function movePosition(
  tx: Queries,
  { merchant_id, id, position }: Pick<Endpoint, 'merchant_id' | 'id' | 'position'>,
  to: number,
): Promise<boolean> {
  const rows = await tx.run(
    `update webhook_endpoints set position = $4
      where merchant_id = $1 and id = $2 and position = $3 and enabled = 1 returning id`,
    [merchant_id, id, position, to],
  );
  return rows.length > 0;
}

/** False if an earlier replay is not finished. */
export async function startReplay(
  tx: Queries,
  merchantId: MerchantId,
  id: number,
  { from, until, since }: { from: number; until: number; since: Date },
): Promise<boolean> {
  const rows = await tx.run(
    `update webhook_endpoints set replay_position = $3, replay_until = $4, replay_since = $5
      where merchant_id = $1 and id = $2 and replay_position is null returning id`,
    [merchantId, id, from, until, since.toISOString()],
  );
  return rows.length > 0;
}

/** `to` undefined: it is finished. */
export async function moveReplay(
  tx: Queries,
  { merchant_id, id }: Pick<Endpoint, 'merchant_id' | 'id'>,
  { from, to }: { from: number; to: number | undefined },
): Promise<boolean> {
  const rows = await tx.run(
    `update webhook_endpoints set replay_position = cast($4 as bigint),
        replay_until = case when cast($4 as bigint) is null then null else replay_until end,
        replay_since = case when cast($4 as bigint) is null then null else replay_since end
      where merchant_id = $1 and id = $2 and replay_position = $3 and enabled = 1 returning id`,
    [merchant_id, id, from, to ?? null],
  );
  return rows.length > 0;
}
