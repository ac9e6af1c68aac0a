import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import type { Overview } from '../contract/overview.ts';
import type { Engine, Queries } from '../database/database.ts';
import { type Days, newestOf } from './days.ts';
import { RECENT_DAYS, readAnswerers, readDayCounts, readWeeks, WEEKS_DAYS } from './progress/weeks.ts';

/** The median covers at most this many answers, the newest of the period. */
const MEDIAN_ANSWERS_MAX = 10_000;

/** Written so that it fits no index of the inbox: by that one PostgreSQL would read all answers of a merchant. */
const ANSWERED = `coalesce(outcome, '') = 'answered'`;

type ByType = Record<NotificationType, number>;
const none = (): ByType => ({ user_question_request: 0, user_support_request: 0 });

/** `days` covers the period and the weeks: at least `WEEKS_DAYS`. */
export async function readOverview(
  queries: Queries,
  merchantId: MerchantId,
  days: Days,
  count: number,
): Promise<Omit<Overview, 'asked_most'>> {
  const period = newestOf(days, count);
  const [pending, counts, median, answered_by] = await Promise.all([
    readPending(queries, merchantId),
    readDayCounts(queries, merchantId, days),
    readMedian(queries, merchantId, period.starts[0]!),
    readAnswerers(queries, merchantId, days.names.at(-RECENT_DAYS)!),
  ]);
  const ofPeriod = counts.slice(-count);
  const by_type = none();
  for (const type of Object.keys(by_type) as NotificationType[]) {
    by_type[type] = ofPeriod.reduce((sum, day) => sum + day[type].answered, 0);
  }
  const perDay = (of: 'answered' | 'resolved') =>
    ofPeriod.map((day, index) => ({
      day: period.names[index]!,
      count: Object.values(day).reduce((sum, each) => sum + each[of], 0),
    }));
  const resolved_per_day = perDay('resolved');
  const weeks = await readWeeks(queries, merchantId, newestOf(days, WEEKS_DAYS), counts.slice(-WEEKS_DAYS));
  return {
    ...{ pending, answered_per_day: perDay('answered'), median_seconds_to_answer: median, by_type },
    ...{ resolved_per_day, resolved: resolved_per_day.reduce((sum, each) => sum + each.count, 0) },
    ...{ weeks, answered_by },
  };
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

const SECONDS: Readonly<Record<Engine, string>> = {
  sqlite: `unixepoch(updated_at, 'subsec') - unixepoch(created_at, 'subsec')`,
  postgres: 'extract(epoch from updated_at::timestamptz - created_at::timestamptz)::float8',
};

async function readMedian(queries: Queries, merchantId: MerchantId, from: string): Promise<number | null> {
  const row = await queries.one<{ median: number | null }>(
    `select avg(seconds) as median from (
        select seconds, row_number() over (order by seconds) as position, count(*) over () as total from (
          select ${SECONDS[queries.engine]} as seconds from notifications
            where merchant_id = $1 and ${ANSWERED} and updated_at >= $2
            order by updated_at desc limit ${MEDIAN_ANSWERS_MAX}) latest) placed
      where position in ((total + 1) / 2, (total + 2) / 2)`,
    [merchantId, from],
  );
  // The databases compute with floating point.
  return row?.median == null ? null : Math.max(0, Math.round(row.median * 1000) / 1000);
}
