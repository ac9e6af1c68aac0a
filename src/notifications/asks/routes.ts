import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorOf, merchantOf, requireMerchant, type WatchRevoked, whoOf } from '../../auth/guard.ts';
import {
  AskBody,
  AskQuery,
  AskReply,
  AskState as AskStateSchema,
  OPEN_ASKS_MAX,
  OpenAsks,
  OpenAsksQuery,
} from '../../contract/asks.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { NotificationType } from '../../contract/notifications.ts';
import { WriteHeaders } from '../../contract/notifications.ts';
import { CHANGES, type Database } from '../../database/database.ts';
import { deliveryWire } from '../../delivery/queue/deliveries.ts';
import {
  askEnded,
  askNotFound,
  conversationNotFound,
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  phoneDiffers,
  phoneRequired,
  required,
  storageFull,
  tooManyWaits,
} from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { sendJson } from '../../http/json.ts';
import { type App, route } from '../../http/openapi.ts';
import {
  collectPage,
  cursorInvalid,
  cursorOf,
  limitInvalid,
  readCursor,
  readLimit,
} from '../../http/paging.ts';
import { checkBodiesOnly } from '../../http/schemas.ts';
import type { Confidence } from '../../knowledge/confidence/confidence.ts';
import { findAnswers } from '../../knowledge/find.ts';
import type { Ranking } from '../../knowledge/ranking/rank.ts';
import { readWait, type Wait, type WaitLimits, waitFor, waitInvalid } from '../../live/wait.ts';
import { whileWaiting } from '../../merchants/store.ts';
import { columnOf } from '../columns.ts';
import type { WriteOnce } from '../idempotency.ts';
import { readContext } from '../kinds.ts';
import { type AskParts, ask } from './ask.ts';
import { cancel, expire } from './end.ts';
import { readQuestion } from './rules.ts';
import { type AskState, baseOf, stateOf } from './state.ts';
import { type Ask, createFindAsk, listWaiting } from './store.ts';
import type { AskWaiters } from './waiters.ts';

export interface AskRouteParts extends AskParts {
  database: Database;
  confidence: Confidence;
  ranking: Ranking;
  waiters: AskWaiters;
  waitLimits: WaitLimits;
  revocations: WatchRevoked;
  writeOnce: WriteOnce;
  now: () => Date;
}

const CANDIDATES_MAX = 5;
const deliveryColumn = (merchantId: string) => `${deliveryWire(merchantId, 'asks.id')} as delivery`;
const askedColumns = (merchantId: string) =>
  `${columnOf('context', merchantId, 'asks.id')} as context,
    ${columnOf('notification_type', merchantId, 'asks.id')} as notification_type`;
const SCOPES = ['ask'] as const;
const CURSOR_SOURCE = 'the next_cursor of a page';

/** Ask the merchant, get or wait for the answer, cancel. */
export async function askRoutes(app: App, parts: AskRouteParts): Promise<void> {
  const { database, waiters, waitLimits, revocations, writeOnce, now } = parts;

  const find = createFindAsk<{ delivery: string | null }>(database, deliveryColumn);

  async function read(merchantId: MerchantId, id: number): Promise<AskState> {
    let found = await find({ merchantId, id });
    if (found?.status === 'waiting' && found.expires_at !== null && found.expires_at <= now().toISOString()) {
      if (await expire(database, merchantId, id, now())) database.signal(CHANGES);
      found = await find({ merchantId, id });
    }
    if (!found) throw askNotFound();
    return stateOf(found);
  }

  /** Until it has ended, or the time is over. */
  const wait = (
    request: FastifyRequest,
    reply: FastifyReply,
    { id, seconds, whenFull }: { id: number } & Pick<Wait<AskState>, 'seconds' | 'whenFull'>,
  ): Promise<AskState> => {
    const merchantId = merchantOf(request);
    return waitFor({
      request,
      reply,
      now,
      seconds,
      read: () => read(merchantId, id),
      isDone: ({ status }) => status !== 'waiting',
      readInMs: ({ expires_at }) =>
        expires_at === null ? undefined : Date.parse(expires_at) - now().getTime(),
      subscribe: (onEnded) => waiters.add(merchantId, id, onEnded),
      limits: waitLimits,
      whenFull,
      revocations,
    });
  };

  requireMerchant(app);
  checkBodiesOnly(app);

  app.post(
    '/',
    route('asks', 'Ask the merchant', {
      operationId: 'askMerchant',
      // It may wait for a person.
      scopes: SCOPES,
      isStream: true,
      responseHeaders: ['Idempotency-Replayed'],
      description:
        'Answers from the knowledge base if it can (`known`), otherwise raises a notification (`asked`). With ' +
        '`wait_seconds` it waits for the merchant; if too many requests of the caller or merchant wait already, it ' +
        'raises the notification and does not wait. An `Idempotency-Key` makes a repeated call safe for 24 hours: it ' +
        'returns the same question, with its answer once there is one.',
      errors: [
        required('question'),
        conversationNotFound(),
        phoneRequired(),
        phoneDiffers(),
        storageFull(),
        idempotencyKeyReused(),
        idempotencyKeyInFlight(),
      ],
      headers: WriteHeaders,
      body: AskBody,
      response: { 200: AskReply },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const { body } = request;
      const question = readQuestion(body);
      const { candidates, recognised } = await findAnswers(parts, merchantId, question.text, {
        limit: CANDIDATES_MAX,
      });
      const { asked } = await writeOnce(request, reply, async (queries) => {
        const outcome = await ask(queries, parts, merchantId, {
          body,
          question,
          recognised,
          at: now(),
        });
        const headers = 'id' in outcome ? { location: `/api/v1/ask/${outcome.id}` } : {};
        return { asked: outcome, headers };
      });
      if ('known' in asked) {
        const { document_id, question: title, answer, score } = asked.known;
        return {
          status: 'known' as const,
          ...{ answer, document_id, question: title, score },
          conversation_id: asked.conversationId,
          reference: question.reference,
          metadata: body.metadata ?? null,
          taken_over: null,
          candidates,
        };
      }
      database.signal(CHANGES);
      const { id } = asked;
      const seconds = body.wait_seconds ?? 0;
      const state = await wait(request, reply, { id, seconds, whenFull: 'return' });
      const status = state.status === 'waiting' ? 'asked' : state.status;
      const { duplicate, takenOver } = asked;
      const reported = { ...state, status, duplicate, taken_over: takenOver ?? null, candidates };
      const waiting = await whileWaiting(database, merchantId, now());
      return sendJson(reply, JSON.stringify({ ...reported, ...waiting }));
    },
  );

  app.get(
    '/',
    route('asks', 'List open questions', {
      operationId: 'listOpenAsks',
      scopes: SCOPES,
      description: 'The questions that wait for the merchant, newest first.',
      errors: [limitInvalid(OPEN_ASKS_MAX), cursorInvalid(CURSOR_SOURCE)],
      querystring: OpenAsksQuery,
      response: { 200: OpenAsks },
    }),
    async (request, reply) => {
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, OPEN_ASKS_MAX) ?? OPEN_ASKS_MAX;
      const [before] = readCursor(query.cursor, /^ask (\d{1,15})$/, CURSOR_SOURCE) ?? [];
      const beforeId = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before);
      const { rows, hasMore } = await collectPage<WaitingAsk>(limit, lengthOf, (last, atMost) =>
        listWaiting(
          database,
          merchantOf(request),
          { beforeId: last?.id ?? beforeId, limit: atMost },
          askedColumns,
        ),
      );
      const asks = rows.map((row) => ({
        status: 'waiting',
        ...baseOf(row),
        question: row.context === null ? '' : readContext({ ...row, context: row.context }).question,
      }));
      const nextCursor = hasMore ? cursorOf(`ask ${rows.at(-1)!.id}`) : null;
      return sendJson(reply, JSON.stringify({ asks, next_cursor: nextCursor }));
    },
  );

  app.get(
    '/:ask_id',
    route('asks', 'Get a question, or wait for its answer', {
      operationId: 'getAsk',
      scopes: SCOPES,
      isStream: true,
      description:
        'The question and its state. With `wait`, the call waits while the merchant has not answered; if too many ' +
        'requests of the caller or merchant wait already, it gets 429 instead. The outcome is kept for 30 days, also if ' +
        'the notification was deleted.',
      errors: [tooManyWaits('user or key', 1000, 5), askNotFound(), waitInvalid()],
      querystring: AskQuery,
      response: { 200: AskStateSchema },
    }),
    async (request, reply) => {
      const wanted = { id: idOf(request), seconds: readWait(request), whenFull: 'refuse' as const };
      return sendJson(reply, JSON.stringify(await wait(request, reply, wanted)));
    },
  );

  app.delete(
    '/:ask_id',
    route('asks', 'Cancel a question', {
      operationId: 'cancelAsk',
      scopes: SCOPES,
      description:
        'The question leaves the inbox, and the merchant sees that the assistant cancelled it. Nothing is sent.',
      errors: [askNotFound(), askEnded('answered')],
      response: { 200: AskStateSchema },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      const by = { author: authorOf(request), who: whoOf(request), at: now() };
      // Not an ask of this merchant, or a notification that nobody asked for.
      if (!(await find({ merchantId, id }))) throw askNotFound();
      const cancelled = await database.transaction((tx) => cancel(tx, merchantId, id, by));
      if (cancelled) database.signal(CHANGES);
      const state = await read(merchantId, id);
      // One whose answer can still be undone waits, but is answered.
      if (state.status !== 'cancelled')
        throw askEnded(state.status === 'waiting' ? 'answered' : state.status);
      return state as never;
    },
  );
}

type WaitingAsk = Ask & { context: string | null; notification_type: NotificationType };
const lengthOf = ({ context, metadata }: WaitingAsk) => (context?.length ?? 0) + (metadata?.length ?? 0);

const idOf = (request: FastifyRequest) => idIn(request, 'ask_id', askNotFound);
