import type { FastifyRequest } from 'fastify';
import { authorOf, merchantOf, requireMerchant, whoOf } from '../../auth/guard.ts';
import { MessageOf } from '../../contract/common.ts';
import { WriteHeaders } from '../../contract/notifications.ts';
import {
  DeletedMany,
  DeleteManyBody,
  ReopenedMany,
  ReopenManyBody,
  ResolvedMany,
  ResolveManyBody,
} from '../../contract/reopen.ts';
import { TeachingProposal } from '../../contract/teaching.ts';
import { CHANGES, type Database } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import {
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  isPending,
  notificationNotFound,
  required,
  tooLate,
} from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { objectIn } from '../../http/input.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkNothing } from '../../http/schemas.ts';
import type { Storage } from '../../merchants/storage.ts';
import { deleteForever } from '../delete.ts';
import { idsInvalid, readIds, readUndoSeconds } from '../groups/answerMany.ts';
import type { WriteOnce } from '../idempotency.ts';
import { undoSecondsInvalid } from '../rules.ts';
import { answerNotification } from './answer.ts';
import { forEach } from './many.ts';
import { reopen } from './reopen.ts';
import { proposeTeaching } from './teaching.ts';

interface Parts {
  database: Database;
  outbox: Outbox;
  storage: Storage;
  writeOnce: WriteOnce;
  now: () => Date;
}

const REOPENED = 'Notification reopened.';
const MANY_ERRORS = [required('ids'), idsInvalid(), idempotencyKeyReused(), idempotencyKeyInFlight()];

/** Undo an answer; resolve, reopen and delete many; and what an answer could teach. */
export async function answerRoutes(app: App, parts: Parts): Promise<void> {
  const { database, outbox, storage, writeOnce, now } = parts;
  requireMerchant(app);
  checkNothing(app);

  app.post(
    '/:notification_id/reopen',
    route('notifications', 'Reopen a notification', {
      operationId: 'reopenNotification',
      scopes: ['answer'],
      area: 'notification',
      description:
        'Takes an answer back while it can be undone (`undo_until`), with its message and its lesson. A ' +
        'notification that was resolved without a reply can be reopened at any time: its ask waits again.',
      errors: [notificationNotFound(), tooLate(), isPending()],
      response: { 200: MessageOf(REOPENED) },
    }),
    async (request) => {
      await reopen(database, merchantOf(request), idOf(request), now());
      database.signal(CHANGES);
      return { message: REOPENED };
    },
  );

  app.post(
    '/resolve-many',
    route('notifications', 'Resolve many notifications', {
      operationId: 'resolveManyNotifications',
      scopes: ['answer'],
      area: 'notification',
      responseHeaders: ['Idempotency-Replayed'],
      description:
        'Resolves each of them without a reply, as `resolve_only` does, or refuses it. If the call fails, repeat ' +
        'it: it resolves the rest. With an `Idempotency-Key`, a call that was completed is not performed again ' +
        'for 24 hours.',
      errors: [...MANY_ERRORS, undoSecondsInvalid()],
      headers: WriteHeaders,
      body: ResolveManyBody,
      response: { 200: ResolvedMany },
    }),
    async (request, reply) => {
      const body = objectIn(request.body);
      const ids = readIds(body.ids);
      const undoSeconds = readUndoSeconds(body.undo_seconds);
      const common = { merchantId: merchantOf(request), author: authorOf(request) };
      const resolveOne = async (id: number) => {
        const answer = { resolve_only: true, undo_seconds: undoSeconds };
        const { message } = await answerNotification(
          database,
          { outbox, storage },
          { ...common, id, body: answer, at: now() },
        );
        return { id, status: 'resolved' as const, message };
      };
      return inParts(request, reply, () => forEach(ids, resolveOne));
    },
  );

  app.post(
    '/reopen-many',
    route('notifications', 'Reopen many notifications', {
      operationId: 'reopenManyNotifications',
      scopes: ['answer'],
      area: 'notification',
      responseHeaders: ['Idempotency-Replayed'],
      description: 'Reopens each of them, as `reopen` does, or refuses it.',
      errors: MANY_ERRORS,
      headers: WriteHeaders,
      body: ReopenManyBody,
      response: { 200: ReopenedMany },
    }),
    async (request, reply) => {
      const ids = readIds(objectIn(request.body).ids);
      const merchantId = merchantOf(request);
      const reopenOne = async (id: number) => {
        await reopen(database, merchantId, id, now());
        return { id, status: 'reopened' as const, message: REOPENED };
      };
      return inParts(request, reply, () => forEach(ids, reopenOne));
    },
  );

  app.post(
    '/delete-many',
    route('notifications', 'Delete many notifications', {
      operationId: 'deleteManyNotifications',
      scopes: ['answer'],
      area: 'notification',
      responseHeaders: ['Idempotency-Replayed'],
      description:
        'Deletes each of them permanently, answered or not. Nothing is sent to the customers. If the call fails, ' +
        'repeat it: it deletes the rest.',
      errors: MANY_ERRORS,
      headers: WriteHeaders,
      body: DeleteManyBody,
      response: { 200: DeletedMany },
    }),
    async (request, reply) => {
      const ids = readIds(objectIn(request.body).ids);
      const merchantId = merchantOf(request);
      const by = { author: authorOf(request), who: whoOf(request) };
      const deleteOne = async (id: number) => {
        await deleteForever(database, merchantId, id, { ...by, at: now() });
        return { id, status: 'deleted' as const, message: 'Notification deleted.' };
      };
      return inParts(request, reply, () => forEach(ids, deleteOne));
    },
  );

  app.get(
    '/:notification_id/teaching',
    route('notifications', 'Get what an answer could teach', {
      operationId: 'proposeTeaching',
      scopes: ['notifications:read'],
      area: 'notification',
      description:
        'The document that the notification refers to, whether its question is about this customer only, and a ' +
        'proposal for `teach` of the answer.',
      errors: [notificationNotFound()],
      response: { 200: TeachingProposal },
    }),
    (request) => proposeTeaching(database, merchantOf(request), idOf(request)),
  );

  async function inParts<Result>(
    request: FastifyRequest,
    reply: Parameters<WriteOnce['inParts']>[1],
    perform: () => Promise<Result[]>,
  ): Promise<{ results: Result[] }> {
    try {
      return await writeOnce.inParts(request, reply, async () => ({ results: await perform() }));
    } finally {
      // Also if it failed half-way.
      database.signal(CHANGES);
    }
  }
}

const idOf = (request: FastifyRequest) => idIn(request, 'notification_id', notificationNotFound);
