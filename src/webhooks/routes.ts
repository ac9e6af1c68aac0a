import type { FastifyRequest } from 'fastify';
import { callerOf, hasScope, merchantOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import { CONTENT_SCOPES } from '../contract/events.ts';
import {
  NewWebhook,
  OVERLAP_SECONDS_DEFAULT,
  RotateBody,
  WEBHOOKS_MAX,
  Webhook,
  WebhookChange,
  WebhookList,
  WebhookWithSecret,
} from '../contract/webhooks.ts';
import type { Transaction } from '../database/database.ts';
import { isWebAddress } from '../delivery/channels/fields.ts';
import { isClearlyPrivate } from '../delivery/channels/webhook/publicAddress.ts';
import { hurryQueue, removeQueue, resumeQueue } from '../delivery/queue/endpointEvents.ts';
import { invalid, required, tooManyWebhooks, webhookNotFound } from '../errors.ts';
import { lastPosition, numberEvents } from '../events/log.ts';
import { type App, route } from '../http/openapi.ts';
import {
  ERRORS,
  findRequested,
  guardWebhooks,
  idOf,
  recordFor,
  SCOPES,
  type WebhookParts,
} from './request.ts';
import {
  changeEndpoint,
  type Endpoint,
  type EndpointChange,
  insertEndpoint,
  listEndpoints,
  newSecret,
  removeEndpoint,
  viewOf,
} from './store.ts';

export interface WebhookRouteParts extends WebhookParts {
  /** Whether addresses in a private network may be called. */
  webhookEndpointsAllowPrivate: boolean;
}

const urlInvalid = () => invalid('url', 'url must be an address that begins with https://');
/** Adds, changes and removes webhook endpoints. */
export async function webhookRoutes(app: App, parts: WebhookRouteParts): Promise<void> {
  const { database, vault, outbox, webhookEndpointsAllowPrivate: allowPrivate, now } = parts;

  /** Changes an endpoint and records it, all or nothing. */
  const change = (
    request: FastifyRequest,
    changeOf: (endpoint: Endpoint) => Partial<EndpointChange>,
    then?: (tx: Transaction, endpoint: Endpoint) => Promise<void>,
  ): Promise<Endpoint> =>
    database.transaction(async (tx) => {
      const endpoint = await changeEndpoint(tx, vault, merchantOf(request), idOf(request), changeOf, now());
      if (!endpoint) throw webhookNotFound();
      await recordFor(tx, request, { what: 'webhook.changed', id: endpoint.id, at: now() });
      await then?.(tx, endpoint);
      return endpoint;
    });

  /** Never repeats the address: it may contain a key. */
  function checkUrl(text: string): string {
    const url = URL.parse(text);
    if (!url || !isWebAddress(text)) throw urlInvalid();
    if (url.username || url.password) throw invalid('url', 'url must not contain a user name or a password');
    if (!allowPrivate && isClearlyPrivate(url))
      throw invalid('url', 'url must not lead into a private network');
    if (!allowPrivate && url.protocol !== 'https:') throw urlInvalid();
    return text;
  }

  guardWebhooks(app);

  app.get(
    '/',
    route('webhooks', 'List webhook endpoints', {
      ...SCOPES,
      operationId: 'listWebhooks',
      description: 'The merchant’s systems that receive events.',
      errors: ERRORS,
      response: { 200: WebhookList },
    }),
    async (request) => {
      const endpoints = await listEndpoints(database, vault, merchantOf(request));
      return endpoints.map((endpoint) => viewOf(endpoint, now()));
    },
  );

  app.post(
    '/',
    route('webhooks', 'Add a webhook endpoint', {
      ...SCOPES,
      operationId: 'addWebhook',
      description:
        'It receives every event from now on. The response is the only place that shows the secret, which ' +
        'verifies the signatures (Standard Webhooks).',
      errors: [...ERRORS, required('url'), urlInvalid(), tooManyWebhooks(WEBHOOKS_MAX)],
      body: NewWebhook,
      response: { 200: WebhookWithSecret },
    }),
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
        await recordFor(tx, request, { what: 'webhook.added', id: added.id, at: now() });
        return added;
      });
      return { ...viewOf(endpoint, now()), secret: settings.secret };
    },
  );

  app.get(
    '/:webhook_id',
    route('webhooks', 'Get a webhook endpoint', {
      ...SCOPES,
      operationId: 'getWebhook',
      description: 'Without its secret.',
      errors: [...ERRORS, webhookNotFound()],
      response: { 200: Webhook },
    }),
    async (request) => viewOf(await findRequested(database, vault, request), now()),
  );

  app.patch(
    '/:webhook_id',
    route('webhooks', 'Change a webhook endpoint', {
      ...SCOPES,
      operationId: 'changeWebhook',
      description:
        'Only the fields that are given. While it is turned off, events wait for it. When it is turned on, it ' +
        'continues where it stopped. A new `url`, or `enabled: true`, sends events that wait for their next ' +
        'attempt now.',
      errors: [...ERRORS, webhookNotFound(), urlInvalid()],
      body: WebhookChange,
      response: { 200: Webhook },
    }),
    async (request) => {
      const { url, events, description, enabled } = request.body;
      const merchantId = merchantOf(request);
      const id = idOf(request);
      if (url !== undefined) checkUrl(url);
      let isMoved = false;
      let isMoreWaiting = false;
      const endpoint = await change(
        request,
        ({ settings }) => {
          isMoved = url !== undefined && url !== settings.url;
          return {
            // Who sets the address decides what is sent there, so a key cannot read more than its scopes allow.
            ...(isMoved ? { settings: { ...settings, url: url! }, includeContent: mayRead(request) } : {}),
            ...(events === undefined ? {} : { events }),
            ...(description === undefined ? {} : { description }),
            ...(enabled === undefined ? {} : { enabled }),
          };
        },
        async (tx) => {
          isMoreWaiting = (isMoved || enabled === true) && (await resumeQueue(tx, merchantId, id, now()));
        },
      );
      while (isMoreWaiting) {
        isMoreWaiting = await database.transaction((tx) => hurryQueue(tx, merchantId, id, { at: now() }));
      }
      outbox.announce();
      return viewOf(endpoint, now());
    },
  );

  app.delete(
    '/:webhook_id',
    route('webhooks', 'Remove a webhook endpoint', {
      ...SCOPES,
      operationId: 'removeWebhook',
      description: 'What waits for it is not sent any more.',
      errors: [...ERRORS, webhookNotFound()],
      response: { 200: MessageOf('Webhook endpoint removed.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      await database.transaction(async (tx) => {
        if (!(await removeEndpoint(tx, merchantId, id))) throw webhookNotFound();
        await removeQueue(tx, merchantId, id);
        await recordFor(tx, request, { what: 'webhook.removed', id, at: now() });
      });
      return { message: 'Webhook endpoint removed.' };
    },
  );

  app.post(
    '/:webhook_id/rotate',
    {
      // A request without a body means the default.
      preValidation: async (request) => {
        request.body ??= {};
      },
      ...route('webhooks', 'Replace the secret of a webhook endpoint', {
        ...SCOPES,
        operationId: 'rotateWebhookSecret',
        optionalBody: true,
        description:
          'Until the overlap ends, every call has a signature of both secrets. A second rotation within that ' +
          'time ends the oldest secret at once.',
        errors: [...ERRORS, webhookNotFound(), invalid('overlap_seconds', 'overlap_seconds must be integer')],
        body: RotateBody,
        response: { 200: WebhookWithSecret },
      }),
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
}

/** Whether the caller may see answers and what customers write. */
const mayRead = (request: FastifyRequest): boolean => {
  const caller = callerOf(request);
  return CONTENT_SCOPES.some((scope) => hasScope(caller, scope));
};
