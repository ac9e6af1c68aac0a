import { merchantOf, requireMerchant, whoOf } from '../auth/guard.ts';
import { ChangedMany, ManyDeliveries } from '../contract/delivery.ts';
import { invalid } from '../errors.ts';
import { memberOf, oneOf, readName } from '../http/input.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import { cancelMany, retryMany } from './queue/control/many.ts';
import { announceChange } from './queue/enqueue.ts';
import { afterIdInvalid, manyMessage, readAfterId } from './requests.ts';
import type { DeliveryParts } from './routes.ts';

const RETRYABLE = ['failed', 'cancelled'] as const;
const CANCELLABLE = ['queued', 'waiting', 'failed'] as const;

const sinceInvalid = () => invalid('since', 'since must be a time such as 2026-01-15T09:30:00Z');

/** All messages in a state at once. */
export async function manyDeliveryRoutes(app: App, parts: DeliveryParts): Promise<void> {
  const { database, defaultCountry, countryOf, now } = parts;

  requireMerchant(app);
  checkNothing(app);

  app.post(
    '/delivery/retry',
    route('deliveries', 'Send all failed deliveries again', {
      operationId: 'retryDeliveries',
      scopes: ['answer'],
      description:
        'All failed or all cancelled messages, optionally only since a time. `more`: call again with ' +
        '`after_id` for the rest. `skipped`: their phone number is not valid; retry each with `recipient`.',
      errors: [oneOf('state', RETRYABLE), sinceInvalid(), afterIdInvalid()],
      body: ManyDeliveries,
      response: { 200: ChangedMany },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const selected = readMany(request.body, RETRYABLE);
      const countries = { country: await countryOf(database, merchantId), defaultCountry };
      const result = await retryMany(database, merchantId, selected, countries, whoOf(request), now);
      announceChange(parts);
      return { message: manyMessage(result.count, 'queued again'), ...result };
    },
  );

  app.post(
    '/delivery/cancel',
    route('deliveries', 'Cancel all deliveries in a state', {
      operationId: 'cancelDeliveries',
      scopes: ['answer'],
      description:
        'All queued, waiting or failed messages, optionally only since a time. `more`: call again with `after_id` for the rest.',
      errors: [oneOf('state', CANCELLABLE), sinceInvalid(), afterIdInvalid()],
      body: ManyDeliveries,
      response: { 200: ChangedMany },
    }),
    async (request) => {
      const selected = readMany(request.body, CANCELLABLE);
      const result = await cancelMany(database, merchantOf(request), selected, whoOf(request), now);
      announceChange(parts);
      return { message: manyMessage(result.count, 'cancelled'), ...result };
    },
  );
}

function readMany<State extends string>(body: unknown, states: readonly State[]) {
  const since = memberOf(body, 'since') ?? undefined;
  const time = typeof since === 'string' && /^\d{4}-\d\d-\d\d/.test(since) ? Date.parse(since) : Number.NaN;
  if (since !== undefined && Number.isNaN(time)) throw sinceInvalid();
  const state = readName('state', memberOf(body, 'state'), states);
  if (!state) throw oneOf('state', states);
  return {
    state,
    since: since === undefined ? undefined : new Date(time),
    afterId: readAfterId(memberOf(body, 'after_id')),
  };
}
