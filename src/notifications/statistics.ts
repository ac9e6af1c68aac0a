import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import type { Overview } from '../contract/overview.ts';
import type { Engine, Queries } from '../database/database.ts';
import { CANCELLED } from './asks/end.ts';
import type { Days } from './days.ts';

/** The median covers at most this many answers, the newest of the period. */
const MEDIAN_ANSWERS_MAX = 10_000;

const ANSWERED = `outcome = 'answered'`;
/** Answered, or resolved without a reply. What the assistant cancelled was neither. */
const ENDED = `status = 'answered' and answer <> '${CANCELLED}'`;

type ByType = Record<NotificationType, number>;
const none = (): ByType => ({ user_question_request: 0, user_support_request: 0 });

export async function readOverview(queries: Queries, merchantId: MerchantId, days: Days): Promise<Overview> {
  const [pending, ended, median] = await Promise.all([
    readPending(queries, merchantId),
    readEnded(queries, merchantId, days),
    readMedian(queries, merchantId, days.from),
  ]);
  return { pending, ...ended, median_seconds_to_answer: median };
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
async function readEnded(
  queries: Queries,
  merchantId: MerchantId,
  { names, from, dayOf }: Days,
): Promise<Pick<Overview, 'answered_per_day' | 'by_type' | 'resolved_per_day' | 'resolved'>> {
  const rows = await queries.all<{
    outcome: 'answered' | 'resolved';
    type: NotificationType;
    hour: string;
    quarter: number;
    count: number;
  }>(
    `select outcome, notification_type as type, substr(updated_at, 1, 13) as hour,
        cast(substr(updated_at, 15, 2) as integer) / 15 as quarter, count(*) as count
      from notifications where merchant_id = $1 and ${ENDED} and updated_at >= $2
      group by 1, 2, 3, 4`,
    [merchantId, from.toISOString()],
  );
  const noneYet = () => new Map(names.map((day) => [day, 0]));
  const counts = { answered: noneYet(), resolved: noneYet() };
  const by_type = none();
  let resolved = 0;
  for (const { outcome, type, hour, quarter, count } of rows) {
    const day = dayOf(new Date(`${hour}:${String(quarter * 15).padStart(2, '0')}:00.000Z`));
    const before = counts[outcome].get(day);
    if (before === undefined) continue;
    counts[outcome].set(day, before + count);
    if (outcome === 'resolved') resolved += count;
    else by_type[type] += count;
  }
  return {
    answered_per_day: perDay(counts.answered),
    by_type,
    resolved_per_day: perDay(counts.resolved),
    resolved,
  };
}

const perDay = (counts: ReadonlyMap<string, number>) => [...counts].map(([day, count]) => ({ day, count }));

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
