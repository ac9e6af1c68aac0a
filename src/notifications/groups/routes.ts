import type { FastifyRequest } from 'fastify';
import { authorOf, merchantOf, requireMerchant } from '../../auth/guard.ts';
import { MessageOf } from '../../contract/common.ts';
import {
  AnsweredMany,
  AnswerManyBody,
  type NotificationGroup,
  NotificationGroups,
  SIMILAR_LIMIT,
  type SimilarNotification,
  SimilarNotifications,
  SimilarQuery,
} from '../../contract/groups.ts';
import { WriteHeaders } from '../../contract/notifications.ts';
import { CHANGES, type Database, type Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import {
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  notificationNotFound,
  required,
} from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { limitInvalid, readLimit } from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import type { Storage } from '../../merchants/storage.ts';
import type { WriteOnce } from '../idempotency.ts';
import { undoSecondsInvalid } from '../rules.ts';
import { lockNotification, touchNotification } from '../store.ts';
import { answerMany, idsInvalid, readManyAnswer } from './answerMany.ts';
import { scoreOf } from './group.ts';
import { createPendingQuestions } from './pending.ts';
import { comparedOf, type Question } from './question.ts';
import { findQuestion, regroup, ungroup } from './store.ts';

export interface GroupParts {
  database: Database;
  outbox: Outbox;
  storage: Storage;
  writeOnce: WriteOnce;
  now: () => Date;
}

/** Questions with lower scores have little in common. */
const SCORE_MIN = 0.3;

/** The same question from several customers: find, answer and separate them. */
export async function groupRoutes(app: App, parts: GroupParts): Promise<void> {
  const { database, outbox, storage, writeOnce, now } = parts;
  const pendingOf = createPendingQuestions(database);

  /** Everybody who looks at the inbox sees the change. */
  async function decide(
    request: FastifyRequest,
    change: (tx: Transaction, id: number, at: Date) => Promise<void>,
  ): Promise<void> {
    const merchantId = merchantOf(request);
    const id = idOf(request);
    await database.transaction(async (tx) => {
      if (!(await lockNotification(tx, { merchantId, id }))) throw notificationNotFound();
      const at = now();
      await change(tx, id, at);
      await touchNotification(tx, merchantId, id, at);
    });
    database.signal(CHANGES);
  }

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/groups',
    route('notifications', 'List groups of the same question', {
      operationId: 'listNotificationGroups',
      scopes: ['notifications:read'],
      area: 'notification',
      description:
        'Pending questions that ask the same, among the newest 1,000 pending notifications. A group has at least ' +
        'two. Support requests, and questions that are about one customer only, are in no group.',
      response: { 200: NotificationGroups },
    }),
    async (request) => {
      const { groups } = await pendingOf(merchantOf(request));
      return { groups: groups.map(wireOf) };
    },
  );

  app.get(
    '/:notification_id/similar',
    route('notifications', 'Find similar pending notifications', {
      operationId: 'findSimilarNotifications',
      scopes: ['notifications:read'],
      area: 'notification',
      description:
        'Pending notifications with a question like that of this one, which may be answered already. They are ' +
        'among the newest 1,000. Support requests are not among them.',
      errors: [notificationNotFound(), limitInvalid(SIMILAR_LIMIT.max)],
      querystring: SimilarQuery,
      response: { 200: SimilarNotifications },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      const { limit } = request.query as { limit?: unknown };
      const count = readLimit(limit, SIMILAR_LIMIT.max) ?? SIMILAR_LIMIT.default;
      const asked = comparedOf(await findQuestion(database, merchantId, id));
      const { questions } = await pendingOf(merchantId);
      const found: SimilarNotification[] = [];
      for (const question of questions.values()) {
        const score = scoreOf(asked, question);
        if (question.id !== id && score >= SCORE_MIN) found.push(similarOf(question, score));
      }
      found.sort((a, b) => b.score - a.score || b.id - a.id);
      return { notifications: found.slice(0, count) };
    },
  );

  app.post(
    '/answer-many',
    route('notifications', 'Answer many notifications', {
      operationId: 'answerManyNotifications',
      scopes: ['answer'],
      area: 'notification',
      responseHeaders: ['Idempotency-Replayed'],
      description:
        'Sends one answer to every customer, each as a single answer would be sent, and teaches it once. Each ' +
        'notification is answered or refused by itself. If the call fails, repeat it: it answers the rest, and ' +
        'reports those that are done as `ALREADY_ANSWERED`. With an `Idempotency-Key`, a call that was completed ' +
        'is not performed again for 24 hours.',
      errors: [
        required('answer'),
        idsInvalid(),
        undoSecondsInvalid(),
        idempotencyKeyReused(),
        idempotencyKeyInFlight(),
      ],
      headers: WriteHeaders,
      body: AnswerManyBody,
      response: { 200: AnsweredMany },
    }),
    async (request, reply) => {
      const many = readManyAnswer(request.body);
      try {
        return await writeOnce.inParts(request, reply, () =>
          answerMany({ database, outbox, storage, now }, merchantOf(request), authorOf(request), many),
        );
      } finally {
        // Also if it failed half-way.
        database.signal(CHANGES);
        outbox.announce();
      }
    },
  );

  app.post(
    '/:notification_id/ungroup',
    route('notifications', 'Take a notification out of its group', {
      operationId: 'ungroupNotification',
      scopes: ['answer'],
      area: 'notification',
      description: 'It is in no group any more, and is answered by itself.',
      errors: [notificationNotFound()],
      response: { 200: MessageOf('The notification is in no group now.') },
    }),
    async (request) => {
      const author = authorOf(request);
      await decide(request, (tx, id, at) => ungroup(tx, merchantOf(request), id, { author, at }));
      return { message: 'The notification is in no group now.' };
    },
  );

  app.delete(
    '/:notification_id/ungroup',
    route('notifications', 'Let a notification be in a group again', {
      operationId: 'regroupNotification',
      scopes: ['answer'],
      area: 'notification',
      description: 'Undoes `ungroup`.',
      errors: [notificationNotFound()],
      response: { 200: MessageOf('The notification can be in a group again.') },
    }),
    async (request) => {
      await decide(request, (tx, id) => regroup(tx, merchantOf(request), id));
      return { message: 'The notification can be in a group again.' };
    },
  );
}

const similarOf = (
  { id, text, isPersonal, conversationId, createdAt }: Question,
  score: number,
): SimilarNotification => ({
  id,
  question: text,
  score,
  personal: isPersonal,
  conversation_id: conversationId,
  created_at: createdAt,
});

function wireOf(group: readonly Question[]): NotificationGroup {
  const [oldest] = group;
  return {
    ids: group.map(({ id }) => id).reverse(),
    size: group.length,
    notification_id: oldest!.id,
    question: oldest!.text,
    oldest_at: oldest!.createdAt,
    newest_at: group.at(-1)!.createdAt,
  };
}

const idOf = (request: FastifyRequest) => idIn(request, 'notification_id', notificationNotFound);
