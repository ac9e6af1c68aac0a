import { authorNameOf } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { NotificationType } from '../../contract/notifications.ts';
import type { Overview } from '../../contract/overview.ts';
import type { Queries } from '../../database/database.ts';
import { type Days, dayIndexOf } from '../days.ts';
import { percentileOf } from './histogram.ts';

/**
 * What was asked and answered, from counts that are kept with every change: a request reads a row per busy quarter of
 * an hour, however many notifications there are. Times and people are counted per day in UTC, so at the edges of a week
 * they may differ by some hours from the merchant's days.
 */

const WEEK_DAYS = 7;
const WEEKS = 12;
export const WEEKS_DAYS = WEEKS * WEEK_DAYS;
/** Who answered, and what was asked most. */
export const RECENT_DAYS = 28;
const ANSWERERS_MAX = 20;

type Counts = Record<NotificationType, { asked: number; answered: number; resolved: number }>;

/** For each day. */
export async function readDayCounts(queries: Queries, merchantId: MerchantId, days: Days): Promise<Counts[]> {
  const rows = await queries.all<{
    at: string;
    type: NotificationType;
    asked: number;
    answered: number;
    resolved: number;
  }>(
    `select at, notification_type as type, asked, answered, resolved from statistics_quarters
      where merchant_id = $1 and at >= $2`,
    [merchantId, days.starts[0]!],
  );
  const none = () => ({ asked: 0, answered: 0, resolved: 0 });
  const counts = days.names.map(
    (): Counts => ({ user_question_request: none(), user_support_request: none() }),
  );
  for (const { at, type, asked, answered, resolved } of rows) {
    const day = counts[dayIndexOf(days, at)]?.[type];
    if (!day) continue;
    day.asked += asked;
    day.answered += answered;
    day.resolved += resolved;
  }
  return counts;
}

/** `days` and `counts` are those of all weeks. */
export async function readWeeks(
  queries: Queries,
  merchantId: MerchantId,
  { names }: Days,
  counts: readonly Counts[],
): Promise<Overview['weeks']> {
  const rows = await queries.all<{ day: string; what: 'seconds' | 'known'; number: number; count: number }>(
    `select day, what, case when what = 'known' then 0 else number end as number, sum(count) as count
      from statistics_days where merchant_id = $1 and day >= $2 and what in ('seconds', 'known') group by 1, 2, 3`,
    [merchantId, names[0]!],
  );
  return Array.from({ length: WEEKS }, (_, index) => {
    const from = index * WEEK_DAYS;
    const days = names.slice(from, from + WEEK_DAYS);
    const types = counts.slice(from, from + WEEK_DAYS).flatMap((day) => Object.values(day));
    const sum = (of: 'asked' | 'answered' | 'resolved') => types.reduce((total, each) => total + each[of], 0);
    const asked = sum('asked');
    const seconds = new Map<number, number>();
    let known = 0;
    for (const { day, what, number, count } of rows) {
      if (!days.includes(day)) continue;
      if (what === 'known') known += Number(count);
      else seconds.set(number, (seconds.get(number) ?? 0) + Number(count));
    }
    return {
      from: days[0]!,
      to: days.at(-1)!,
      ...{ asked, answered: sum('answered'), resolved: sum('resolved'), answered_by_assistant: known },
      assistant_share: known + asked === 0 ? null : Math.round((1000 * known) / (known + asked)) / 1000,
      median_seconds: percentileOf(seconds, 0.5),
      p90_seconds: percentileOf(seconds, 0.9),
    };
  });
}

/** Who answered how many since this day, most first. */
export async function readAnswerers(
  queries: Queries,
  merchantId: MerchantId,
  since: string,
): Promise<Overview['answered_by']> {
  const rows = await queries.all<{
    what: 'user' | 'key';
    number: number;
    count: number;
    name: string | null;
  }>(
    `select what, number, count, ${authorNameOf(
      '$1',
      "case when what = 'user' then number end",
      "case when what = 'key' then number end",
    )} as name
      from (select what, number, sum(count) as count from statistics_days
        where merchant_id = $1 and day >= $2 and what in ('user', 'key') group by what, number) counted
      where count > 0 order by count desc, what desc, number limit ${ANSWERERS_MAX}`,
    [merchantId, since],
  );
  return rows.map(({ what, number, count, name }) => ({
    kind: what,
    id: number,
    name,
    count: Number(count),
  }));
}
