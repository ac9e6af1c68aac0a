import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { callerOf, merchantOf, requireMerchant, whoOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import {
  ChangedMany,
  type Delivery,
  DeliveryList,
  DeliveryStateName,
  DeliveryWithTimeline,
  Limits,
  ManyDeliveries,
  RetryBody,
} from '../contract/delivery.ts';
import { DELIVERY_STATES } from '../contract/deliveryStates.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries } from '../database/database.ts';
import {
  deliveryNotCancellable,
  deliveryNotFailed,
  deliveryNotFound,
  recipientInvalid,
  recipientNotForKeys,
} from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { memberOf, oneOf, readName } from '../http/input.ts';
import { type App, route } from '../http/openapi.ts';
import { collectPage, cursorOf, nextLink, readCursor, readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import { readSince, sinceInvalid } from '../http/times.ts';
import type { CountryCode } from './phone.ts';
import { cancelDelivery } from './queue/control/cancel.ts';
import { cancelMany, retryMany } from './queue/control/many.ts';
import { retryDelivery } from './queue/control/retry.ts';
import { findDelivery, listDeliveries } from './queue/deliveries.ts';
import { announceChange, type Outbox } from './queue/enqueue.ts';
import { readTimeline } from './queue/events.ts';
import { readQuota } from './quota.ts';
import { afterIdInvalid, manyMessage, readAfterId } from './requests.ts';

export interface DeliveryParts {
  database: Database;
  outbox: Outbox;
  channelDailyLimit: number;
  defaultCountry: CountryCode | undefined;
  /** The merchant's own country, if it has one. */
  countryOf: (queries: Queries, merchantId: MerchantId) => Promise<CountryCode | undefined>;
  now: () => Date;
}

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;
const RETRYABLE = ['failed', 'cancelled'] as const;
const CANCELLABLE = ['queued', 'waiting', 'failed'] as const;

export async function deliveryRoutes(app: App, parts: DeliveryParts): Promise<void> {
  const { database, channelDailyLimit, defaultCountry, countryOf, now } = parts;

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/delivery/',
    route('deliveries', 'List deliveries', {
      operationId: 'listDeliveries',
      scopes: ['notifications:read'],
      responseHeaders: ['Link'],
      description: `Messages to customers, newest first, ${LIMIT_DEFAULT} a page, or fewer if they are long. \`Link\` leads to the next page.`,
      errors: [oneOf('state', DELIVERY_STATES)],
      querystring: Type.Object({
        state: Type.Optional(DeliveryStateName),
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: LIMIT_MAX,
            default: LIMIT_DEFAULT,
            description: 'Page size.',
          }),
        ),
        cursor: Type.Optional(Type.String({ description: 'From the `Link` header of the previous page.' })),
      }),
      response: { 200: DeliveryList },
    }),
    async (request, reply) => {
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, LIMIT_MAX) ?? LIMIT_DEFAULT;
      const [before] = readCursor(query.cursor, /^delivery (\d{1,15})$/) ?? [];
      const filter = {
        state: readName('state', query.state, DELIVERY_STATES),
        at: now(),
      };
      const { rows, hasMore } = await collectPage<Delivery>(
        limit,
        ({ content }) => content.length,
        (last, atMost) =>
          listDeliveries(database, merchantOf(request), {
            ...filter,
            beforeId: last?.id ?? (before === undefined ? undefined : Number(before)),
            limit: atMost,
          }),
      );
      if (hasMore) reply.header('link', nextLink(request, cursorOf(`delivery ${rows.at(-1)!.id}`)));
      return rows;
    },
  );

  app.get(
    '/delivery/:delivery_id',
    route('deliveries', 'Get a delivery', {
      operationId: 'getDelivery',
      scopes: ['notifications:read'],
      description: 'One message, with its history.',
      errors: [deliveryNotFound()],
      response: { 200: DeliveryWithTimeline },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const delivery = await findDelivery(database, merchantId, idOf(request), now());
      if (!delivery) throw deliveryNotFound();
      return { ...delivery, timeline: await readTimeline(database, merchantId, delivery.id) };
    },
  );

  app.post(
    '/delivery/:delivery_id/retry',
    route('deliveries', 'Send a failed delivery again', {
      operationId: 'retryDelivery',
      scopes: ['answer'],
      optionalBody: true,
      description:
        'Puts a failed or cancelled message back into the queue. `recipient` corrects its phone number.',
      errors: [deliveryNotFound(), deliveryNotFailed(), recipientInvalid(), recipientNotForKeys()],
      body: RetryBody,
      response: { 200: MessageOf('The message is queued again.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const recipient = readRecipient(request.body);
      // A key must not be able to send a message to somebody else.
      if (recipient !== undefined && callerOf(request).kind === 'key') throw recipientNotForKeys();
      const id = idOf(request);
      const country = await countryOf(database, merchantId);
      const retry = { id, recipient, country, defaultCountry };
      const who = whoOf(request);
      const result = await database.transaction((tx) => retryDelivery(tx, merchantId, retry, who, now()));
      if (result === 'not_found') throw deliveryNotFound();
      if (result === 'not_failed') throw deliveryNotFailed();
      if (result === 'bad_number') throw recipientInvalid();
      announceChange(parts);
      return { message: 'The message is queued again.' };
    },
  );

  app.post(
    '/delivery/:delivery_id/cancel',
    route('deliveries', 'Cancel a delivery', {
      operationId: 'cancelDelivery',
      scopes: ['answer'],
      description: 'The message will not be sent. One that is being sent or was sent cannot be cancelled.',
      errors: [deliveryNotFound(), deliveryNotCancellable()],
      response: { 200: MessageOf('The message is cancelled.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      const who = whoOf(request);
      const result = await database.transaction((tx) => cancelDelivery(tx, merchantId, id, who, now()));
      if (result === 'not_found') throw deliveryNotFound();
      if (result === 'not_cancellable') throw deliveryNotCancellable();
      announceChange(parts);
      return { message: 'The message is cancelled.' };
    },
  );

  app.get(
    '/limits',
    route('deliveries', 'Get the daily messaging limit', {
      operationId: 'getLimits',
      scopes: ['notifications:read'],
      description: 'How many customers campaigns and templates may still reach.',
      response: { 200: Limits },
    }),
    (request) => readQuota(database, merchantOf(request), channelDailyLimit, now()),
  );

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

const idOf = (request: FastifyRequest) => idIn(request, 'delivery_id', deliveryNotFound);

function readRecipient(body: unknown): string | undefined {
  const recipient = memberOf(body, 'recipient') ?? undefined;
  if (recipient !== undefined && typeof recipient !== 'string') throw recipientInvalid();
  return recipient;
}

function readMany<State extends string>(body: unknown, states: readonly State[]) {
  const since = readSince(memberOf(body, 'since') ?? undefined);
  const state = readName('state', memberOf(body, 'state'), states);
  if (!state) throw oneOf('state', states);
  return { state, since, afterId: readAfterId(memberOf(body, 'after_id')) };
}
