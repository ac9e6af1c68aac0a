import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { merchantOf } from '../auth/guard.ts';
import type { MerchantId } from '../contract/ids.ts';
import {
  ATTEMPTS_DEFAULT,
  ATTEMPTS_MAX,
  AttemptList,
  AttemptsQuery,
  QueuedEvent,
  ReplayBody,
} from '../contract/webhooks.ts';
import type { Queries } from '../database/database.ts';
import {
  countQueued,
  enqueueEvents,
  findQueued,
  hurryEvents,
  hurryQueue,
  listEventDeliveries,
} from '../delivery/queue/endpointEvents.ts';
import {
  eventNotFound,
  invalid,
  webhookIsOff,
  webhookIsReplaying,
  webhookNotFound,
  webhookQueueFull,
} from '../errors.ts';
import { numberEvents, positionBefore, readEvents } from '../events/log.ts';
import { type App, route } from '../http/openapi.ts';
import { cursorInvalid, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { readTime, sinceInvalid } from '../http/times.ts';
import { eventDelivery, QUEUED_MAX, webhookIdOf } from './dispatch.ts';
import { startReplay } from './positions.ts';
import { ERRORS, findRequested, guardWebhooks, recordFor, SCOPES, type WebhookParts } from './request.ts';
import type { Endpoint } from './store.ts';

const CURSOR_SOURCE = 'the next_cursor of a page';
const oneOfBoth = () => invalid('event_id', 'send either event_id or since');

/** Sends events to an endpoint by hand, and shows what was sent. */
export async function webhookEventRoutes(app: App, parts: WebhookParts): Promise<void> {
  const { database, vault, outbox, now } = parts;
  async function findEnabled(tx: Queries, request: FastifyRequest): Promise<Endpoint> {
    const endpoint = await findRequested(tx, vault, request);
    if (!endpoint.enabled) throw webhookIsOff();
    return endpoint;
  }

  const isFull = async (tx: Queries, merchantId: MerchantId, { id }: Endpoint): Promise<boolean> =>
    (await countQueued(tx, merchantId, id, QUEUED_MAX)) >= QUEUED_MAX;

  guardWebhooks(app);

  app.post(
    '/:webhook_id/test',
    route('webhooks', 'Send a test event', {
      ...SCOPES,
      operationId: 'testWebhook',
      description: 'Sends `webhook.test`, whatever types the endpoint receives.',
      errors: [...ERRORS, webhookNotFound(), webhookIsOff(), webhookQueueFull()],
      response: { 200: QueuedEvent },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const at = now();
      const type = 'webhook.test';
      const webhookId = `evt_${merchantId}_test_${randomUUID()}`;
      await database.transaction(async (tx) => {
        const endpoint = await findEnabled(tx, request);
        if (await isFull(tx, merchantId, endpoint)) throw webhookQueueFull();
        const data = { event_id: null, webhook_endpoint_id: endpoint.id };
        const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
        await enqueueEvents(
          tx,
          merchantId,
          [{ endpointId: endpoint.id, webhookId, eventId: null, type, body }],
          at,
        );
      });
      outbox.announce();
      return { message: 'The test event is queued.', webhook_id: webhookId };
    },
  );

  app.post(
    '/:webhook_id/replay',
    route('webhooks', 'Send events again', {
      ...SCOPES,
      operationId: 'replayEvents',
      description:
        'One event by its id, or all since a time that the endpoint receives. They have the same `webhook-id` ' +
        'as before. Those that wait for their next attempt are sent now, and only once.',
      errors: [
        ...[...ERRORS, webhookNotFound(), eventNotFound(), oneOfBoth(), sinceInvalid()],
        ...[webhookIsOff(), webhookIsReplaying(), webhookQueueFull()],
      ],
      body: ReplayBody,
      response: { 200: QueuedEvent },
    }),
    async (request) => {
      const { event_id: eventId, since } = request.body;
      if ((eventId === undefined) === (since === undefined)) throw oneOfBoth();
      const merchantId = merchantOf(request);
      await numberEvents(database, merchantId);
      if (eventId === undefined) {
        const time = readTime(since);
        if (!time) throw sinceInvalid();
        const from = await positionBefore(database, merchantId, time);
        await database.transaction(async (tx) => {
          const endpoint = await findEnabled(tx, request);
          const { id, position } = endpoint;
          // What comes after its position has not been sent yet, and will be.
          if (!(await startReplay(tx, merchantId, id, { from, until: position, since: time })))
            throw webhookIsReplaying();
          await recordFor(tx, request, { what: 'webhook.changed', id, at: now() });
          // Otherwise the replay could not begin before the next of them is due.
          if (await isFull(tx, merchantId, endpoint))
            await hurryQueue(tx, merchantId, id, { since: time, at: now() });
        });
        outbox.announce();
        return { message: 'The events will be sent again.', webhook_id: null };
      }
      const [event] = await readEvents(database, merchantId, { after: eventId - 1, limit: 1 });
      const webhookId = webhookIdOf(merchantId, eventId);
      const isNew = await database.transaction(async (tx) => {
        const endpoint = await findEnabled(tx, request);
        if (event?.id !== eventId) throw eventNotFound();
        const queued = await findQueued(tx, merchantId, endpoint.id, [webhookId]);
        if (queued.size > 0) {
          await hurryEvents(tx, merchantId, endpoint.id, [...queued.values()], now());
          return false;
        }
        if (await isFull(tx, merchantId, endpoint)) throw webhookQueueFull();
        const delivery = eventDelivery(endpoint, event);
        await enqueueEvents(tx, merchantId, [delivery], now());
        return true;
      });
      outbox.announce();
      const message = isNew ? 'The event is queued.' : 'The event was already in the queue. It is sent now.';
      return { message, webhook_id: webhookId };
    },
  );

  app.get(
    '/:webhook_id/attempts',
    route('webhooks', 'List what was sent to a webhook endpoint', {
      ...SCOPES,
      operationId: 'listWebhookAttempts',
      description:
        'Newest first, kept as long as events: 30 days by default. Send `next_cursor` as `cursor` for the next page.',
      errors: [...ERRORS, webhookNotFound(), cursorInvalid(CURSOR_SOURCE)],
      querystring: AttemptsQuery,
      response: { 200: AttemptList },
    }),
    async (request) => {
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, ATTEMPTS_MAX) ?? ATTEMPTS_DEFAULT;
      const [before] = readCursor(query.cursor, /^attempt (\d{1,15})$/, CURSOR_SOURCE) ?? [];
      const { id } = await findRequested(database, vault, request);
      const rows = await listEventDeliveries(database, merchantOf(request), id, {
        beforeId: before === undefined ? undefined : Number(before),
        limit: limit + 1,
      });
      const attempts = rows.slice(0, limit);
      const hasMore = rows.length > limit;
      return { attempts, next_cursor: hasMore ? cursorOf(`attempt ${attempts.at(-1)!.id}`) : null };
    },
  );
}
