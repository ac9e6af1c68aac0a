import type { Queries } from '../../database/database.ts';

/** What an operator asks of the way out, and how a stopped channel goes on. */

export interface ChannelStop {
  channel_id: string;
  code: string;
  stopped_at: string;
  until: string;
}

export function listStops(queries: Queries, at: Date): Promise<ChannelStop[]> {
  return queries.all<ChannelStop>(
    'select channel_id, code, stopped_at, until from channel_stops where until > $1 order by stopped_at',
    [at.toISOString()],
  );
}

/** Every stopped channel is tried again at once, with the messages that waited for it. */
export async function resumeChannels(tx: Queries, at: Date): Promise<ChannelStop[]> {
  const stops = await tx.run<ChannelStop>(
    'delete from channel_stops returning channel_id, code, stopped_at, until',
  );
  for (const { code, until } of stops) {
    await tx.run(
      `update deliveries set due_at = $3 where state = 'queued' and last_code = $1 and due_at = $2 and due_at > $3`,
      [code, until, at.toISOString()],
    );
  }
  return stops;
}

interface QueueCondition {
  queued: number;
  waitingForLimit: number;
  waitingForCustomer: number;
  /** When the oldest that is queued was written. */
  oldestAt: string | undefined;
  /** Since when nobody took up what is due. */
  dueSince: string | undefined;
}

const OPEN = `('queued', 'sending', 'waiting')`;

export async function queueCondition(queries: Queries, at: Date): Promise<QueueCondition> {
  const row = await queries.one<
    Record<'queued' | 'limit_waits' | 'customer_waits', number> & { oldest: string }
  >(
    `select count(case when state <> 'waiting' then 1 end) as queued,
        count(case when waiting_for = 'limit' then 1 end) as limit_waits,
        count(case when waiting_for = 'customer' then 1 end) as customer_waits,
        min(case when state <> 'waiting' then created_at end) as oldest
      from deliveries where state in ${OPEN}`,
  );
  // One that follows another to the same customer is not due before that is gone.
  const due = await queries.one<{ due_at: string }>(
    `select d.due_at from deliveries d where d.state in ${OPEN} and d.due_at <= $1 and not exists (
        select 1 from deliveries e where e.merchant_id = d.merchant_id and e.recipient = d.recipient
          and e.id < d.id and e.state in ${OPEN})
      order by d.due_at limit 1`,
    [at.toISOString()],
  );
  return {
    queued: row?.queued ?? 0,
    waitingForLimit: row?.limit_waits ?? 0,
    waitingForCustomer: row?.customer_waits ?? 0,
    oldestAt: row?.oldest ?? undefined,
    dueSince: due?.due_at,
  };
}
