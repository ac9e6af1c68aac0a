import { merchantOf, requireMerchant } from '../auth/guard.ts';
import type { MerchantId } from '../contract/ids.ts';
import { DAYS_MAX, Overview, OverviewQuery } from '../contract/overview.ts';
import type { Database } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import { lastDays } from './days.ts';
import { groupedQuestions, type RecentQuestions } from './groups/recent.ts';
import { RECENT_DAYS, WEEKS_DAYS } from './progress/weeks.ts';
import { readOverview } from './statistics.ts';

const DAYS_DEFAULT = 14;

const daysInvalid = () => invalid('days', `days must be an integer from 1 to ${DAYS_MAX}`);
const timeZoneInvalid = () => invalid('time_zone', 'time_zone must be an IANA name such as Europe/Madrid');

export async function overviewRoutes(
  app: App,
  parts: { database: Database; recentQuestions: RecentQuestions; now: () => Date },
): Promise<void> {
  const { database, recentQuestions, now } = parts;
  requireMerchant(app);
  checkNothing(app);
  app.get(
    '/overview',
    route('notifications', 'Get statistics', {
      operationId: 'getOverview',
      scopes: ['notifications:read'],
      description:
        'Pending notifications, how many were answered on each of the last days, and how that changed over the last ' +
        'twelve weeks: response time, what the assistant answered by itself, what is asked most, and who answered.',
      errors: [daysInvalid(), timeZoneInvalid()],
      querystring: OverviewQuery,
      response: { 200: Overview },
    }),
    async (request) => {
      const { days, time_zone = 'UTC' } = request.query as Record<string, unknown>;
      const count = readDays(days);
      const period = lastDays(Math.max(count, WEEKS_DAYS), String(time_zone), now());
      if (!period) throw timeZoneInvalid();
      const merchantId = merchantOf(request);
      const [overview, asked_most] = await Promise.all([
        readOverview(database, merchantId, period, count),
        findAskedMost(recentQuestions, merchantId, period.starts.at(-RECENT_DAYS)!),
      ]);
      return { ...overview, asked_most };
    },
  );
}

function readDays(given: unknown): number {
  if (given === undefined) return DAYS_DEFAULT;
  const days = typeof given === 'string' && /^\d{1,2}$/.test(given) ? Number(given) : 0;
  if (days < 1 || days > DAYS_MAX) throw daysInvalid();
  return days;
}

const SHOWN_MAX = 10;

/** What several customers asked since this time, most first. */
async function findAskedMost(
  recentQuestions: RecentQuestions,
  merchantId: MerchantId,
  since: string,
): Promise<Overview['asked_most']> {
  const recent = await recentQuestions(merchantId);
  const groups = await groupedQuestions(recent.filter(({ question }) => question.createdAt >= since));
  return groups
    .filter(({ length }) => length > 1)
    .slice(0, SHOWN_MAX)
    .map((group) => {
      const newest = group.at(-1)!;
      return { question: newest.text, count: group.length, notification_id: newest.id };
    });
}
