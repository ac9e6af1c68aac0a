import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { authorOf, callerOf, merchantOf, requireMerchant, type WatchRevoked, whoOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import {
  ListHeaders,
  ListQuery,
  NotificationList,
  NotificationWithAnswer,
  Unchanged,
  WriteHeaders,
} from '../contract/notifications.ts';
import { AnswerBody, AnswerDone, RequestBody } from '../contract/notificationWrites.ts';
import { CHANGES, type Database } from '../database/database.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import {
  alreadyAnswered,
  answerFailsSchema,
  contentMissing,
  contextTooLarge,
  conversationNotFound,
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  invalid,
  methodNotAllowed,
  notificationNotFound,
  replyToInvalid,
  required,
  storageFull,
} from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { JSON_TYPE, rawMember } from '../http/json.ts';
import { type App, route } from '../http/openapi.ts';
import { nextLink } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import type { Storage } from '../merchants/storage.ts';
import { answerNotification } from './answers/answer.ts';
import { deleteForever } from './delete.ts';
import type { WriteOnce } from './idempotency.ts';
import { ROW_BYTES } from './inboxes.ts';
import { isFiltered, readFilteredPage, readFilteredQuery, updatedSinceInvalid } from './list/filteredList.ts';
import { createInboxLists, readListQuery } from './list/list.ts';
import { raise } from './raise.ts';
import { CONTEXT_MAX_BYTES, checkRequest } from './rules.ts';
import { findNotificationWire } from './store.ts';

export interface NotificationParts {
  database: Database;
  outbox: Outbox;
  storage: Storage;
  revocations: WatchRevoked;
  writeOnce: WriteOnce;
  now: () => Date;
}

const LISTS_KEPT_MAX_BYTES = 16 * 1024 * 1024;

/** Instead of an id, the path has `request`. */
const NOT_AN_ID = methodNotAllowed(['POST']);
const IDEMPOTENCY_ERRORS = [idempotencyKeyReused(), idempotencyKeyInFlight()];

export async function notificationRoutes(app: App, parts: NotificationParts): Promise<void> {
  const { database, outbox, storage, revocations, writeOnce, now } = parts;
  const lists = createInboxLists(database, LISTS_KEPT_MAX_BYTES);

  /** A slow client may read a large list for a minute. */
  function endWhenRevoked(list: Readable, request: FastifyRequest): void {
    const unwatch = revocations.watch(callerOf(request), () => list.destroy());
    list.once('close', unwatch);
  }

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/',
    {
      // The address without the slash works too; the contract uses this one.
      prefixTrailingSlash: 'slash',
      ...route('notifications', 'List notifications', {
        operationId: 'listNotifications',
        scopes: ['notifications:read'],
        area: 'notification',
        responseHeaders: ['ETag', 'Link', 'Cache-Control'],
        description:
          'The merchant’s notifications, newest first. The list is complete unless you ask for pages with `limit`. ' +
          'Send the `ETag` back as `If-None-Match` to get 304 while nothing has changed. With `conversation_id`, ' +
          '`ids`, `updated_since` or `include` it always has pages, and no `ETag`.',
        errors: [invalid('status', 'status must be one of requested, answered'), updatedSinceInvalid()],
        querystring: ListQuery,
        headers: ListHeaders,
        response: { 200: NotificationList, 304: Unchanged },
      }),
    },
    async (request, reply) => {
      const query = request.query as Record<string, unknown>;
      if (isFiltered(query)) {
        const page = await readFilteredPage(database, merchantOf(request), readFilteredQuery(query));
        reply.header('cache-control', 'private, no-cache');
        if (page.nextCursor) reply.header('link', nextLink(request, page.nextCursor));
        return reply.type(JSON_TYPE).send(page.body as never);
      }
      const filter = readListQuery(query);
      const reader = { merchantId: merchantOf(request), callerId: callerOf(request).callerId };
      const list = await lists.get(reader, filter, request.headers['if-none-match']);
      reply.header('etag', list.tag).header('cache-control', 'private, no-cache');
      if (list.unchanged) return reply.code(304).send(undefined as never);
      if (list.nextCursor) reply.header('link', nextLink(request, list.nextCursor));
      if (!Buffer.isBuffer(list.body)) endWhenRevoked(list.body, request);
      // A Buffer or stream skips the serializer.
      return reply.type(JSON_TYPE).send(withoutBody(request, list.body) as never);
    },
  );

  app.get(
    '/:notification_id',
    route('notifications', 'Get a notification', {
      operationId: 'getNotification',
      scopes: ['notifications:read'],
      area: 'notification',
      description: 'One notification with its answer, the state of its message, and its ask.',
      errors: [notificationNotFound(), NOT_AN_ID],
      response: { 200: NotificationWithAnswer },
    }),
    async (request, reply) => {
      const wire = await findNotificationWire(
        database,
        merchantOf(request),
        idOf(request),
        outbox.defaultCountry,
      );
      if (wire === undefined) throw notificationNotFound();
      return reply.type(JSON_TYPE).send(Buffer.from(wire) as never);
    },
  );

  app.post(
    '/:notification_id/answer',
    {
      compress: false,
      ...route('notifications', 'Answer a notification', {
        operationId: 'answerNotification',
        scopes: ['answer'],
        area: 'notificationBody',
        responseHeaders: ['Idempotency-Replayed'],
        description:
          'A question takes `answer`, a support request `agent_response_to_customer` and ' +
          '`resolution_notes`, and every type `resolve_only`. If several answers arrive, exactly one wins. ' +
          'With `undo_seconds` nothing is sent or learned until then, and `reopen` takes the answer back. ' +
          'An `Idempotency-Key` makes a repeated request safe for 24 hours.',
        errors: [
          notificationNotFound(),
          alreadyAnswered(),
          contentMissing('answer'),
          required('resolution_notes'),
          answerFailsSchema('answer', 'answer must NOT have more than 4096 characters'),
          replyToInvalid(),
          ...IDEMPOTENCY_ERRORS,
        ],
        headers: WriteHeaders,
        body: AnswerBody,
        response: { 200: AnswerDone },
      }),
    },
    async (request, reply) => {
      const answered = await writeOnce(request, reply, (queries) =>
        answerNotification(
          queries,
          { outbox, storage },
          {
            merchantId: merchantOf(request),
            author: authorOf(request),
            id: idOf(request),
            body: request.body,
            at: now(),
          },
        ),
      );
      database.signal(CHANGES);
      outbox.announce();
      return answered as never;
    },
  );

  app.delete(
    '/:notification_id',
    route('notifications', 'Delete a notification', {
      operationId: 'deleteNotification',
      scopes: ['answer'],
      area: 'notification',
      description: 'Deletes it permanently, answered or not. Nothing is sent to the customer.',
      errors: [notificationNotFound(), NOT_AN_ID],
      response: { 200: MessageOf('Notification deleted.') },
    }),
    async (request) => {
      const by = { author: authorOf(request), who: whoOf(request), at: now() };
      await deleteForever(database, merchantOf(request), idOf(request), by);
      database.signal(CHANGES);
      return { message: 'Notification deleted.' };
    },
  );

  app.post(
    '/request',
    {
      compress: false,
      ...route('notifications', 'Raise a notification', {
        operationId: 'raiseNotification',
        scopes: ['ask'],
        area: 'notificationBody',
        responseHeaders: ['Location', 'Idempotency-Replayed'],
        description:
          'Creates a notification. The `Location` header has its address. ' +
          'An `Idempotency-Key` makes a repeated request safe for 24 hours.',
        errors: [
          conversationNotFound(),
          required('question'),
          contextTooLarge(CONTEXT_MAX_BYTES),
          storageFull(),
          ...IDEMPOTENCY_ERRORS,
        ],
        headers: WriteHeaders,
        body: RequestBody,
        response: { 200: MessageOf('Notification requested.') },
      }),
    },
    async (request, reply) => {
      const { message } = await writeOnce(request, reply, async (queries) => {
        const decision = checkRequest(request.body);
        if (decision.do === 'refuse') throw decision.error;
        const { type, conversationId } = decision;
        const contextText = rawMember(request.bodyText, 'context')!;
        const contextBytes = Buffer.byteLength(contextText);
        if (contextBytes > CONTEXT_MAX_BYTES) throw contextTooLarge(CONTEXT_MAX_BYTES);
        const merchantId = merchantOf(request);
        await storage.reserve(queries, merchantId, contextBytes + ROW_BYTES);
        const id = await raise(queries, {
          merchantId,
          type,
          conversationId,
          contextText,
          at: now(),
        });
        if (id === undefined) throw conversationNotFound();
        return { message: 'Notification requested.', headers: { location: `/api/v1/notification/${id}` } };
      });
      database.signal(CHANGES);
      return { message };
    },
  );
}

/** Fastify would read a whole stream to answer HEAD. */
function withoutBody({ method }: FastifyRequest, body: Buffer | Readable): Buffer | Readable {
  if (method !== 'HEAD' || Buffer.isBuffer(body)) return body;
  body.destroy();
  return Readable.from([]);
}

const idOf = (request: FastifyRequest) => idIn(request, 'notification_id', notificationNotFound);
