import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { merchantOf, requireMerchant } from '../auth/guard.ts';
import { DAYS_MAX, Overview, OverviewQuery } from '../contract/overview.ts';
import type { Database } from '../database/database.ts';
import { invalid, TOKEN_ERRORS } from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { lastDays } from './days.ts';
import { readOverview } from './statistics.ts';

const DAYS_DEFAULT = 14;

const daysInvalid = () => invalid('days', `days must be an integer from 1 to ${DAYS_MAX}`);
const timeZoneInvalid = () => invalid('time_zone', 'time_zone must be an IANA name such as Europe/Madrid');

export function overviewRoutes({
  database,
  now,
}: {
  database: Database;
  now: () => Date;
}): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);
    app.get(
      '/overview',
      {
        config: { scopes: ['notifications:read'] },
        validatorCompiler: () => () => true,
        schema: {
          ...describeRoute('notifications', 'Get statistics', {
            operationId: 'getOverview',
            description: 'Pending notifications, and how many were answered on each of the last days.',
            errors: [...TOKEN_ERRORS, daysInvalid(), timeZoneInvalid()],
          }),
          querystring: OverviewQuery,
          response: { 200: Overview },
        },
      },
      async (request) => {
        const { days, time_zone = 'UTC' } = request.query as Record<string, unknown>;
        const period = lastDays(readDays(days), String(time_zone), now());
        if (!period) throw timeZoneInvalid();
        return readOverview(database, merchantOf(request), period);
      },
    );
  };
}

function readDays(given: unknown): number {
  if (given === undefined) return DAYS_DEFAULT;
  const days = typeof given === 'string' && /^\d{1,2}$/.test(given) ? Number(given) : 0;
  if (days < 1 || days > DAYS_MAX) throw daysInvalid();
  return days;
}
