import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import {
  callerOf,
  hasScope,
  merchantOf,
  requireMerchant,
  revoked,
  type WatchRevoked,
} from '../auth/guard.ts';
import type { Recheck } from '../auth/recheck.ts';
import type { Caller } from '../auth/tokens.ts';
import { CONTENT_SCOPES, EVENT_TYPES, EventLog, EventLogQuery, LOG_LIMIT } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import { EventText, ResumeHeaders, ResumeQuery } from '../contract/live.ts';
import type { Scope } from '../contract/machineKeys.ts';
import type { Database } from '../database/database.ts';
import { liftDeadline, withoutDeadline } from '../database/deadline.ts';
import { invalid, serviceUnavailable, tooManyStreams, tooManyWaits } from '../errors.ts';
import { eventOf, type LoggedEvent, lastPosition, numberEvents, readEvents } from '../events/log.ts';
import { sendJson } from '../http/json.ts';
import { createFairSlots } from '../http/limits/fairSlots.ts';
import { type App, route } from '../http/openapi.ts';
import { collectPage, limitInvalid, readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import type { Hub } from './hub.ts';
import { createStreamLimits, type StreamLimitParts } from './limits.ts';
import { EventStream } from './stream.ts';
import { TOPICS, type Topic } from './versions.ts';
import { readWait, type WaitLimits, waitFor, waitInvalid } from './wait.ts';

export interface LiveParts {
  database: Database;
  hub: Hub;
  limits: StreamLimitParts;
  waitLimits: WaitLimits;
  now: () => Date;
  revocations: WatchRevoked;
  recheck: Recheck;
}

const SCOPES: readonly Scope[] = ['ask', 'notifications:read', 'knowledge:read', 'webhooks'];
/** Thousands of readers of a merchant may wait for the same event. The merchants take turns. */
const LOG_READS_AT_ONCE = 4;
/** Few enough for one write to a stream. */
const READ_AT_ONCE = 50;

/** What happened, as a stream and as a log. */
export async function liveRoutes(app: App, parts: LiveParts): Promise<void> {
  const { database, hub, limits, waitLimits, now, revocations, recheck } = parts;

  async function currentPosition(merchantId: MerchantId): Promise<number> {
    await numberEvents(database, merchantId);
    return lastPosition(database, merchantId);
  }

  requireMerchant(app);
  checkNothing(app);
  const streamLimits = createStreamLimits(limits);
  const withReadSlot = createFairSlots(LOG_READS_AT_ONCE, Number.POSITIVE_INFINITY);
  app.addHook('onClose', async () => streamLimits.close());

  app.get(
    '/events',
    {
      // A HEAD request would stay open like a GET.
      exposeHeadRoute: false,
      // Each event must be sent immediately, and is too short to benefit from compression.
      compress: false,
      ...route('live', 'Subscribe to events (SSE)', {
        operationId: 'subscribeToEvents',
        isStream: true,
        scopes: SCOPES,
        responseHeaders: ['Cache-Control'],
        description:
          'Server-sent events with a growing `id` and with data. The first, `connected`, has the id from which the ' +
          'stream goes on: the one that you sent as `Last-Event-ID` or `after`, otherwise that of the last event. After ' +
          'a reconnect with `Last-Event-ID` you get everything that you missed. The events of a person’s stream also ' +
          'include `inbox`, `presence`, `deliveries` and `knowledge`, without content: fetch again what you show. A comment every ' +
          '15 seconds keeps the connection open. The stream ends when the session or the key ends.',
        errors: [tooManyStreams('user or key', 20, 10), afterInvalid()],
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: EventText },
      }),
    },
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const caller = callerOf(request);
      const query = request.query as { after?: unknown };
      const after = query.after === undefined ? undefined : readAfter(query.after);
      const known = request.headers['last-event-id'];
      const last = await currentPosition(merchantId);
      // An id from before an upgrade is no position.
      const wanted = known === undefined ? after : Number(/^\d{1,15}$/.exec(String(known))?.[0] ?? last);
      // A database that was restored may be behind.
      const position = Math.min(wanted ?? last, last);
      const leave = await streamLimits.enter(merchantId, caller.callerId);
      const stream = new EventStream({
        position,
        show: (event) => shownTo(caller, event),
        read: (from) =>
          withoutDeadline(() => readEvents(database, merchantId, { after: from, limit: READ_AT_ONCE })),
        withTopics: caller.kind === 'user',
        checkAt: new Date(caller.expiresAtSeconds * 1000),
        check: () => withoutDeadline(() => recheck(caller)),
        now,
        onClose() {
          unwatch();
          hub.leave(merchantId, stream);
          leave();
        },
      });
      let isRevoked = false;
      const unwatch = revocations.watch(caller, () => {
        isRevoked = true;
        stream.end();
      });
      const joined = await hub.join(merchantId, stream).catch((error) => {
        stream.destroy();
        throw error;
      });
      if (!joined) {
        stream.destroy();
        throw serviceUnavailable();
      }
      // The client may have disconnected already.
      if (request.raw.socket.destroyed) stream.destroy();
      // It was revoked meanwhile, or the server stops.
      if (stream.hasEnded) throw isRevoked ? revoked(caller) : serviceUnavailable();
      stream.begin(known === undefined && after === undefined ? [] : missed(position < last));
      liftDeadline();
      return sendStream(reply, stream);
    },
  );

  app.get(
    '/events/log',
    route('live', 'Read the log of events', {
      operationId: 'listEvents',
      isStream: true,
      scopes: SCOPES,
      description:
        'The same events, for polling: send `last_id` as `after` the next time. With `wait`, the call waits for an ' +
        'event if there is none; if too many requests of the caller or merchant wait already, it gets 429 instead. ' +
        'Events are kept for 30 days, unless the server has another setting.',
      errors: [
        tooManyWaits('user or key', 1000, 5),
        afterInvalid(),
        limitInvalid(LOG_LIMIT.max),
        waitInvalid(),
      ],
      querystring: EventLogQuery,
      response: { 200: EventLog },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const caller = callerOf(request);
      const query = request.query as Record<string, unknown>;
      const after = query.after === undefined ? 0 : readAfter(query.after);
      const limit = readLimit(query.limit, LOG_LIMIT.max) ?? LOG_LIMIT.default;
      const read = async () => {
        // After this turn of the event loop: on SQLite, thousands of reads would be one turn.
        await nextTurn();
        // A database that was restored may be behind.
        const from = Math.min(after, await currentPosition(merchantId));
        const { rows, hasMore } = await collectPage<LoggedEvent>(limit, lengthOf, (last, atMost) =>
          readEvents(database, merchantId, { after: last?.id ?? from, limit: atMost }),
        );
        return {
          events: rows.flatMap((event) => shownTo(caller, event) ?? []),
          last_id: rows.at(-1)?.id ?? from,
          more: hasMore,
        };
      };
      const { events, last_id, more } = await waitFor({
        request,
        reply,
        seconds: readWait(request),
        read: () => withReadSlot({ group: String(merchantId), isKnown: true }, read),
        isDone: ({ events, last_id }) => events.length > 0 || last_id !== after,
        limits: waitLimits,
        whenFull: 'refuse',
        revocations,
        now,
        subscribe: async (onChange) => {
          const subscriber = { logged: () => onChange(), end: () => onChange(true) };
          const joined = await hub.join(merchantId, subscriber);
          if (!joined) onChange(true);
          return () => hub.leave(merchantId, subscriber);
        },
      });
      // As text: the events are JSON already.
      return sendJson(reply, `{"events":[${events}],"last_id":${last_id},"more":${more}}`);
    },
  );
}

/** The JSON of an event without and with texts: many streams may get the same. */
const jsonOf = new WeakMap<LoggedEvent, [string | undefined, string | undefined]>();

/** As this caller sees it, if it may. */
function shownTo(caller: Caller, event: LoggedEvent): string | undefined {
  if (!EVENT_TYPES[event.type].some((scope) => hasScope(caller, scope))) return undefined;
  const withTexts = CONTENT_SCOPES.some((scope) => hasScope(caller, scope));
  const kind = withTexts ? 1 : 0;
  const known = jsonOf.get(event) ?? [undefined, undefined];
  const json = known[kind] ?? JSON.stringify(eventOf(event, withTexts));
  known[kind] = json;
  jsonOf.set(event, known);
  return json;
}

const lengthOf = ({ data, content, metadata }: LoggedEvent) =>
  data.length + (content?.length ?? 0) + (metadata?.length ?? 0);

/** Deliveries and documents may have changed without an event, so they are always included. */
const missed = (hasEvents: boolean): readonly Topic[] =>
  hasEvents ? TOPICS : TOPICS.filter((topic) => topic !== 'inbox');

const afterInvalid = () => invalid('after', 'after must be the id of an event');

function readAfter(given: unknown): number {
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given)) throw afterInvalid();
  return Number(given);
}

function sendStream(reply: FastifyReply, stream: EventStream) {
  return reply
    .type('text/event-stream; charset=utf-8')
    .headers({ 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' })
    .send(stream as never);
}
