import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { merchantOf, requireMerchant } from '../auth/guard.ts';
import { Message } from '../contract/common.ts';
import {
  DELIVERY_STATES,
  DeliveryList,
  DeliveryStateName,
  DeliveryWithTimeline,
  Limits,
} from '../contract/delivery.ts';
import { CHANGES, type Database } from '../database/database.ts';
import { deliveryNotFailed, deliveryNotFound, invalid, TOKEN_ERRORS } from '../errors.ts';
import { readId } from '../http/ids.ts';
import { describeRoute, parameterSchema, skipSchemaValidation } from '../http/openapi.ts';
import { cursorOf, nextLink, readCursor, readLimit } from '../http/paging.ts';
import { findDelivery, listDeliveries, retryDelivery, timelineOf } from './queue/deliveries.ts';
import type { DeliveryState, Outbox } from './queue/enqueue.ts';
import { limitOutlook } from './quota.ts';

export interface DeliveryParts {
  database: Database;
  outbox: Outbox;
  channelDailyLimit: number;
  now: () => Date;
}

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

export function deliveryRoutes({
  database,
  outbox,
  channelDailyLimit,
  now,
}: DeliveryParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);

    app.get(
      '/delivery/',
      {
        ...skipSchemaValidation,
        schema: {
          ...describeRoute('deliveries', 'List deliveries', {
            description: `Messages to customers, newest first, ${LIMIT_DEFAULT} a page; \`Link\` leads to the next.`,
            errors: [...TOKEN_ERRORS, invalid('state', `state must be one of ${DELIVERY_STATES.join(', ')}`)],
          }),
          querystring: Type.Object({
            state: Type.Optional(DeliveryStateName),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
            cursor: Type.Optional(Type.String()),
          }),
          response: { 200: DeliveryList },
        },
      },
      async (request, reply) => {
        const query = request.query as Record<string, unknown>;
        const limit = readLimit(query.limit, LIMIT_MAX) ?? LIMIT_DEFAULT;
        const [before] = readCursor(query.cursor, /^delivery (\d{1,15})$/) ?? [];
        // One more than asked for tells whether there is a next page.
        const rows = await listDeliveries(database, merchantOf(request), {
          state: readState(query.state),
          beforeId: before === undefined ? undefined : Number(before),
          limit: limit + 1,
        });
        const page = rows.slice(0, limit);
        if (rows.length > limit)
          reply.header('link', nextLink(request, cursorOf(`delivery ${page.at(-1)!.id}`)));
        return page;
      },
    );

    app.get(
      '/delivery/:delivery_id',
      {
        ...skipSchemaValidation,
        schema: {
          ...describeRoute('deliveries', 'Read one delivery', {
            description: 'One message, with what happened to it.',
            errors: [...TOKEN_ERRORS, deliveryNotFound()],
          }),
          params: parameterSchema('delivery_id'),
          response: { 200: DeliveryWithTimeline },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const delivery = await findDelivery(database, merchantId, idOf(request));
        if (!delivery) throw deliveryNotFound();
        return { ...delivery, timeline: await timelineOf(database, merchantId, delivery.id) };
      },
    );

    app.post(
      '/delivery/:delivery_id/retry',
      {
        ...skipSchemaValidation,
        schema: {
          ...describeRoute('deliveries', 'Try a failed delivery again', {
            description: 'Puts a failed message back into the queue.',
            errors: [...TOKEN_ERRORS, deliveryNotFound(), deliveryNotFailed()],
          }),
          params: parameterSchema('delivery_id'),
          response: { 200: Message },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const id = idOf(request);
        const queued = await database.transaction((tx) => retryDelivery(tx, merchantId, id, now()));
        if (!queued)
          throw (await findDelivery(database, merchantId, id)) ? deliveryNotFailed() : deliveryNotFound();
        outbox.announce();
        database.signal(CHANGES);
        return { message: 'The message is queued again.' };
      },
    );

    app.get(
      '/limits',
      {
        schema: {
          ...describeRoute('deliveries', 'Read the day’s messaging limit', {
            description: 'How many customers campaigns and templates may still reach.',
            errors: TOKEN_ERRORS,
          }),
          response: { 200: Limits },
        },
      },
      (request) => limitOutlook(database, merchantOf(request), channelDailyLimit, now()),
    );
  };
}

function idOf(request: FastifyRequest): number {
  const id = readId((request.params as { delivery_id: string }).delivery_id);
  if (id === undefined) throw deliveryNotFound();
  return id;
}

function readState(given: unknown): DeliveryState | undefined {
  if (given === undefined) return undefined;
  const state = DELIVERY_STATES.find((name) => name === given);
  if (!state) throw invalid('state', `state must be one of ${DELIVERY_STATES.join(', ')}`);
  return state;
}
