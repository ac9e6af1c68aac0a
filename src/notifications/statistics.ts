import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import type { Overview } from '../contract/overview.ts';
import type { Engine, Queries } from '../database/database.ts';
import { CANCELLED } from './asks/end.ts';
import type { Days } from './days.ts';

/** The median covers at most this many answers, the newest of the period. */
const MEDIAN_ANSWERS_MAX = 10_000;

/** What the assistant cancelled was not answered by anybody. */
const ANSWERED = `status = 'answered' and answer <> '${CANCELLED}'`;

type ByType = Record<NotificationType, number>;
const none = (): ByType => ({ user_question_request: 0, user_support_request: 0 });

export async function readOverview(queries: Queries, merchantId: MerchantId, days: Days): Promise<Overview> {
  const [pending, answered, median] = await Promise.all([
    readPending(queries, merchantId),
    readAnswered(queries, merchantId, days),
    readMedian(queries, merchantId, days.from),
  ]);
  return { pending, ...answered, median_seconds_to_answer: median };
}

async function readPending(queries: Queries, merchantId: MerchantId): Promise<Overview['pending']> {
  const rows = await queries.all<{ type: NotificationType; count: number; oldest: string }>(
    `select notification_type as type, count(*) as count, min(created_at) as oldest from notifications
      where merchant_id = $1 and status = 'requested' group by notification_type`,
    [merchantId],
  );
  const by_type = none();
  for (const { type, count } of rows) by_type[type] = count;
  return {
    total: rows.reduce((sum, { count }) => sum + count, 0),
    by_type,
    oldest_at: rows.map(({ oldest }) => oldest).sort()[0] ?? null,
  };
}

/** Counts per quarter of an hour: each belongs to one day in every time zone, and a period has few of them. */
async function readAnswered(
  queries: Queries,
  merchantId: MerchantId,
  { names, from, dayOf }: Days,
): Promise<Pick<Overview, 'answered_per_day' | 'by_type'>> {
  const rows = await queries.all<{ type: NotificationType; hour: string; quarter: number; count: number }>(
    `select notification_type as type, substr(updated_at, 1, 13) as hour,
        cast(substr(updated_at, 15, 2) as integer) / 15 as quarter, count(*) as count
      from notifications where merchant_id = $1 and ${ANSWERED} and updated_at >= $2
      group by 1, 2, 3`,
    [merchantId, from.toISOString()],
  );
  const counts = new Map(names.map((day) => [day, 0]));
  const by_type = none();
  for (const { type, hour, quarter, count } of rows) {
    const day = dayOf(new Date(`${hour}:${String(quarter * 15).padStart(2, '0')}:00.000Z`));
    const before = counts.get(day);
    if (before === undefined) continue;
    counts.set(day, before + count);
    by_type[type] += count;
  }
  return { answered_per_day: [...counts].map(([day, count]) => ({ day, count })), by_type };
}

const SECONDS: Readonly<Record<Engine, string>> = {
  sqlite: `unixepoch(updated_at, 'subsec') - unixepoch(created_at, 'subsec')`,
  postgres: 'extract(epoch from updated_at::timestamptz - created_at::timestamptz)::float8',
};

async function readMedian(queries: Queries, merchantId: MerchantId, from: Date): Promise<number | null> {
  const row = await queries.one<{ median: number | null }>(
    `select avg(seconds) as median from (
        select seconds, row_number() over (order by seconds) as position, count(*) over () as total from (
          select ${SECONDS[queries.engine]} as seconds from notifications
            where merchant_id = $1 and ${ANSWERED} and updated_at >= $2
            order by updated_at desc limit ${MEDIAN_ANSWERS_MAX}) latest) placed
      where position in ((total + 1) / 2, (total + 2) / 2)`,
    [merchantId, from.toISOString()],
  );
  // The databases compute with floating point.
  return row?.median == null ? null : Math.max(0, Math.round(row.median * 1000) / 1000);
}
