import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { recordEvent } from '../audit/record.ts';
import { callerOf, hasScope, merchantOf, requireOwnerOrKey, whoOf } from '../auth/guard.ts';
import type { EventName } from '../contract/auditEvents.ts';
import { MessageOf } from '../contract/common.ts';
import { CONTENT_SCOPES } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import {
  ATTEMPTS_DEFAULT,
  ATTEMPTS_MAX,
  AttemptList,
  AttemptsQuery,
  NewWebhook,
  OVERLAP_SECONDS_DEFAULT,
  QueuedEvent,
  ReplayBody,
  RotateBody,
  WEBHOOKS_MAX,
  Webhook,
  WebhookChange,
  WebhookList,
  WebhookWithSecret,
} from '../contract/webhooks.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { isPrivateOnTheWire, isWebAddress } from '../delivery/channels/fields.ts';
import { refusesLiteral } from '../delivery/channels/webhook/publicAddress.ts';
import {
  countQueued,
  enqueueEvents,
  isQueued,
  listEventDeliveries,
  removeQueue,
  resumeQueue,
} from '../delivery/queue/endpointEvents.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import {
  eventNotFound,
  insufficientScope,
  invalid,
  ownerRequired,
  required,
  TOKEN_ERRORS,
  tooManyWebhooks,
  webhookIsOff,
  webhookIsReplaying,
  webhookNotFound,
  webhookQueueFull,
} from '../errors.ts';
import { lastPosition, numberEvents, positionBefore, readEvents } from '../events/log.ts';
import { readId } from '../http/ids.ts';
import { describeRoute, parameterSchema } from '../http/openapi.ts';
import { cursorInvalid, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import type { Vault } from '../secrets.ts';
import { eventDelivery, QUEUED_MAX, webhookIdOf } from './dispatch.ts';
import {
  changeEndpoint,
  type Endpoint,
  type EndpointChange,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  newSecret,
  removeEndpoint,
  startReplay,
  viewOf,
} from './store.ts';

export interface WebhookRouteParts {
  database: Database;
  vault: Vault;
  outbox: Pick<Outbox, 'announce'>;
  /** Whether addresses in a private network may be called. */
  webhookEndpointsAllowPrivate: boolean;
  now: () => Date;
}

const CURSOR_SOURCE = 'the next_cursor of a page';
const SCOPES = { config: { scopes: ['webhooks'] } } as const;
const ERRORS = [...TOKEN_ERRORS, ownerRequired(), insufficientScope(SCOPES.config.scopes)];
const urlInvalid = () => invalid('url', 'url must be an address that begins with https://');
const sinceInvalid = () => invalid('since', 'since must be a time such as 2026-01-15T09:30:00Z');
const oneOfBoth = () => invalid('event_id', 'send either event_id or since');

export function webhookRoutes(parts: WebhookRouteParts): FastifyPluginAsyncTypebox {
  const { database, vault, outbox, webhookEndpointsAllowPrivate: allowPrivate, now } = parts;

  const idOf = (request: FastifyRequest): number => {
    const id = readId((request.params as { webhook_id: string }).webhook_id);
    if (id === undefined) throw webhookNotFound();
    return id;
  };

  async function find(queries: Queries, request: FastifyRequest): Promise<Endpoint> {
    const endpoint = await findEndpoint(queries, vault, merchantOf(request), idOf(request));
    if (!endpoint) throw webhookNotFound();
    return endpoint;
  }

  /** Changes an endpoint and records it, all or nothing. */
  const change = (
    request: FastifyRequest,
    changeOf: (endpoint: Endpoint) => Partial<EndpointChange>,
    then?: (tx: Transaction, endpoint: Endpoint) => Promise<void>,
  ): Promise<Endpoint> =>
    database.transaction(async (tx) => {
      const endpoint = await changeEndpoint(tx, vault, merchantOf(request), idOf(request), changeOf, now());
      if (!endpoint) throw webhookNotFound();
      await record(tx, request, 'webhook.changed', endpoint.id);
      await then?.(tx, endpoint);
      return endpoint;
    });

  const record = (tx: Queries, request: FastifyRequest, what: EventName, id: number) =>
    recordEvent(tx, {
      what,
      merchantId: merchantOf(request),
      who: whoOf(request),
      at: now(),
      about: { webhook_id: id },
    });

  /** Never repeats the address: it may contain a key. */
  function checkUrl(text: string): string {
    if (!(allowPrivate ? isWebAddress(text) : isPrivateOnTheWire(text))) throw urlInvalid();
    const url = new URL(text);
    if (url.username || url.password) throw invalid('url', 'url must not contain a user name or a password');
    if (!allowPrivate && refusesLiteral(url))
      throw invalid('url', 'url must not lead into a private network');
    return text;
  }

  async function checkRoom(tx: Queries, merchantId: MerchantId, { id, enabled }: Endpoint): Promise<void> {
    if (!enabled) throw webhookIsOff();
    if ((await countQueued(tx, merchantId, id, QUEUED_MAX)) >= QUEUED_MAX) throw webhookQueueFull();
  }

  return async (app) => {
    requireOwnerOrKey(app);
    const { validatorCompiler } = app;
    // Only bodies are checked by their schemas: a text that is not an id is not found.
    app.setValidatorCompiler((route) => (route.httpPart === 'body' ? validatorCompiler!(route) : () => true));

    app.get(
      '/',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'List webhook endpoints', {
            operationId: 'listWebhooks',
            description: 'The merchant’s systems that receive events.',
            errors: ERRORS,
          }),
          response: { 200: WebhookList },
        },
      },
      async (request) => {
        const endpoints = await listEndpoints(database, vault, merchantOf(request));
        return endpoints.map((endpoint) => viewOf(endpoint, now()));
      },
    );

    app.post(
      '/',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Add a webhook endpoint', {
            operationId: 'addWebhook',
            description:
              'It receives every event from now on. The response is the only place that shows the secret, which ' +
              'verifies the signatures (Standard Webhooks).',
            errors: [...ERRORS, required('url'), urlInvalid(), tooManyWebhooks(WEBHOOKS_MAX)],
          }),
          body: NewWebhook,
          response: { 200: WebhookWithSecret },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const { url, events = null, description = null } = request.body;
        const settings = { url: checkUrl(url), secret: newSecret() };
        await numberEvents(database, merchantId);
        const endpoint = await database.transaction(async (tx) => {
          const added = await insertEndpoint(tx, vault, merchantId, {
            settings,
            events,
            description,
            includeContent: mayRead(request),
            position: await lastPosition(tx, merchantId),
            at: now(),
          });
          if (!added) throw tooManyWebhooks(WEBHOOKS_MAX);
          await record(tx, request, 'webhook.added', added.id);
          return added;
        });
        return { ...viewOf(endpoint, now()), secret: settings.secret };
      },
    );

    app.get(
      '/:webhook_id',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Get a webhook endpoint', {
            operationId: 'getWebhook',
            description: 'Without its secret.',
            errors: [...ERRORS, webhookNotFound()],
          }),
          params: parameterSchema('webhook_id'),
          response: { 200: Webhook },
        },
      },
      async (request) => viewOf(await find(database, request), now()),
    );

    app.patch(
      '/:webhook_id',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Change a webhook endpoint', {
            operationId: 'changeWebhook',
            description:
              'Only the fields that are given. While it is turned off, events wait for it. When it is turned on, it ' +
              'continues where it stopped.',
            errors: [...ERRORS, webhookNotFound(), urlInvalid()],
          }),
          params: parameterSchema('webhook_id'),
          body: WebhookChange,
          response: { 200: Webhook },
        },
      },
      async (request) => {
        const { url, events, description, enabled } = request.body;
        const merchantId = merchantOf(request);
        const id = idOf(request);
        if (url !== undefined) checkUrl(url);
        const endpoint = await change(
          request,
          ({ settings, includeContent }) => ({
            // Who sets the address decides what is sent there, so a key cannot read more than its scopes allow.
            ...(url === undefined
              ? {}
              : { settings: { ...settings, url }, includeContent: includeContent && mayRead(request) }),
            ...(events === undefined ? {} : { events }),
            ...(description === undefined ? {} : { description }),
            ...(enabled === undefined ? {} : { enabled }),
          }),
          (tx) => resumeQueue(tx, merchantId, id, now()),
        );
        outbox.announce();
        return viewOf(endpoint, now());
      },
    );

    app.delete(
      '/:webhook_id',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Remove a webhook endpoint', {
            operationId: 'removeWebhook',
            description: 'What waits for it is not sent any more.',
            errors: [...ERRORS, webhookNotFound()],
          }),
          params: parameterSchema('webhook_id'),
          response: { 200: MessageOf('Webhook endpoint removed.') },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const id = idOf(request);
        await database.transaction(async (tx) => {
          if (!(await removeEndpoint(tx, merchantId, id))) throw webhookNotFound();
          await removeQueue(tx, merchantId, id);
          await record(tx, request, 'webhook.removed', id);
        });
        return { message: 'Webhook endpoint removed.' };
      },
    );

    app.post(
      '/:webhook_id/rotate',
      {
        ...SCOPES,
        // A request without a body means the default.
        preValidation: async (request) => {
          request.body ??= {};
        },
        schema: {
          ...describeRoute('webhooks', 'Replace the secret of a webhook endpoint', {
            operationId: 'rotateWebhookSecret',
            optionalBody: true,
            description:
              'Until the overlap ends, every call has a signature of both secrets. A second rotation within that ' +
              'time ends the oldest secret at once.',
            errors: [...ERRORS, webhookNotFound()],
          }),
          params: parameterSchema('webhook_id'),
          body: RotateBody,
          response: { 200: WebhookWithSecret },
        },
      },
      async (request) => {
        const seconds = request.body.overlap_seconds ?? OVERLAP_SECONDS_DEFAULT;
        const until = new Date(now().getTime() + seconds * 1000).toISOString();
        const secret = newSecret();
        const endpoint = await change(request, ({ settings }) => ({
          settings: { url: settings.url, secret, previous: { secret: settings.secret, until } },
        }));
        return { ...viewOf(endpoint, now()), secret };
      },
    );

    app.post(
      '/:webhook_id/test',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Send a test event', {
            operationId: 'testWebhook',
            description: 'Sends `webhook.test`, whatever types the endpoint receives.',
            errors: [...ERRORS, webhookNotFound(), webhookIsOff(), webhookQueueFull()],
          }),
          params: parameterSchema('webhook_id'),
          response: { 200: QueuedEvent },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const at = now();
        const type = 'webhook.test';
        const webhookId = `evt_${merchantId}_test_${randomUUID()}`;
        await database.transaction(async (tx) => {
          const endpoint = await find(tx, request);
          await checkRoom(tx, merchantId, endpoint);
          const data = { event_id: null, webhook_endpoint_id: endpoint.id };
          const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
          await enqueueEvents(tx, merchantId, endpoint.id, [{ webhookId, eventId: null, type, body }], at);
        });
        outbox.announce();
        return { message: 'The test event is queued.', webhook_id: webhookId };
      },
    );

    app.post(
      '/:webhook_id/replay',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'Send events again', {
            operationId: 'replayEvents',
            description:
              'One event by its id, or all since a time that the endpoint receives. They have the same `webhook-id` ' +
              'as before.',
            errors: [
              ...[...ERRORS, webhookNotFound(), eventNotFound(), oneOfBoth(), sinceInvalid()],
              ...[webhookIsOff(), webhookIsReplaying(), webhookQueueFull()],
            ],
          }),
          params: parameterSchema('webhook_id'),
          body: ReplayBody,
          response: { 200: QueuedEvent },
        },
      },
      async (request) => {
        const { event_id: eventId, since } = request.body;
        if ((eventId === undefined) === (since === undefined)) throw oneOfBoth();
        const merchantId = merchantOf(request);
        await numberEvents(database, merchantId);
        if (eventId === undefined) {
          const time = readTime(since!);
          const from = await positionBefore(database, merchantId, time);
          await database.transaction(async (tx) => {
            const { id, enabled } = await find(tx, request);
            if (!enabled) throw webhookIsOff();
            const until = await lastPosition(tx, merchantId);
            if (!(await startReplay(tx, merchantId, id, { from, until, since: time })))
              throw webhookIsReplaying();
            await record(tx, request, 'webhook.changed', id);
          });
          outbox.announce();
          return { message: 'The events will be sent again.', webhook_id: null };
        }
        const [event] = await readEvents(database, merchantId, { after: eventId - 1, limit: 1 });
        const webhookId = webhookIdOf(merchantId, eventId);
        const isNew = await database.transaction(async (tx) => {
          const endpoint = await find(tx, request);
          await checkRoom(tx, merchantId, endpoint);
          if (event?.id !== eventId) throw eventNotFound();
          if (await isQueued(tx, merchantId, endpoint.id, webhookId)) return false;
          const delivery = eventDelivery(merchantId, event, endpoint.includeContent);
          await enqueueEvents(tx, merchantId, endpoint.id, [delivery], now());
          return true;
        });
        outbox.announce();
        const message = isNew ? 'The event is queued.' : 'The event is already in the queue.';
        return { message, webhook_id: webhookId };
      },
    );

    app.get(
      '/:webhook_id/attempts',
      {
        ...SCOPES,
        schema: {
          ...describeRoute('webhooks', 'List what was sent to a webhook endpoint', {
            operationId: 'listWebhookAttempts',
            description: 'Newest first, kept for 30 days. Send `next_cursor` as `cursor` for the next page.',
            errors: [...ERRORS, webhookNotFound(), cursorInvalid(CURSOR_SOURCE)],
          }),
          params: parameterSchema('webhook_id'),
          querystring: AttemptsQuery,
          response: { 200: AttemptList },
        },
      },
      async (request) => {
        const query = request.query as Record<string, unknown>;
        const limit = readLimit(query.limit, ATTEMPTS_MAX) ?? ATTEMPTS_DEFAULT;
        const [before] = readCursor(query.cursor, /^attempt (\d{1,15})$/, CURSOR_SOURCE) ?? [];
        const { id } = await find(database, request);
        const rows = await listEventDeliveries(database, merchantOf(request), id, {
          beforeId: before === undefined ? undefined : Number(before),
          limit: limit + 1,
        });
        const attempts = rows.slice(0, limit);
        const hasMore = rows.length > limit;
        return { attempts, next_cursor: hasMore ? cursorOf(`attempt ${attempts.at(-1)!.id}`) : null };
      },
    );
  };
}

/** Whether the caller may see answers and what customers write. */
const mayRead = (request: FastifyRequest): boolean => {
  const caller = callerOf(request);
  return CONTENT_SCOPES.some((scope) => hasScope(caller, scope));
};

function readTime(given: string): Date {
  const time = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(time)) throw sinceInvalid();
  return new Date(time);
}
