import type { Queries } from '../../database/database.ts';
import { IS_CHANNEL, MESSAGES, OPEN, PUSH_QUEUES } from './table.ts';

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
  const due = await queries.one<{ due_at: string }>(
    'select due_at from delivery_queues where due_at <= $1 order by due_at limit 1',
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

/** For the metrics. */
export async function readQueueFigures(queries: Queries, at: Date) {
  const { queued, waitingForLimit, waitingForCustomer, oldestAt } = await readQueueState(queries, at);
  const stops = await queries.one<{ breakers: number; stopped: number }>(
    `select count(case when kind = 'not_answering' then 1 end) as breakers,
        count(case when kind = 'refused' and until > $1 then 1 end) as stopped from channel_stops where ${IS_CHANNEL}`,
    [at.toISOString()],
  );
  const oldest = oldestAt === undefined ? at.getTime() : Date.parse(oldestAt);
  return {
    open: queued + waitingForLimit + waitingForCustomer,
    oldestSeconds: (at.getTime() - oldest) / 1000,
    breakersOpen: stops?.breakers ?? 0,
    channelsStopped: stops?.stopped ?? 0,
  };
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
