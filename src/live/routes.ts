import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { expiryOf, merchantOf, requireMerchant } from '../auth/guard.ts';
import { EventText, ResumeHeaders } from '../contract/live.ts';
import type { Database } from '../database/database.ts';
import { serviceUnavailable, TOKEN_ERRORS } from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { createHub, type Hub } from './hub.ts';
import { EventStream } from './stream.ts';
import type { Topic } from './versions.ts';

export interface LiveParts {
  database: Database;
  log: Logger;
  now: () => Date;
}

/** Tells open windows of changes: what changed they ask for themselves. */
export function liveRoutes({ database, log, now }: LiveParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);
    let opened: Hub | undefined;
    const openHub = () => (opened ??= createHub({ database, log }));
    // Its ear to other processes is there before the first window is.
    app.addHook('onListen', async () => void openHub());
    // Before the server waits for its connections: these would last until their tokens end.
    app.addHook('preClose', async () => opened?.close());

    app.get(
      '/events',
      {
        // A HEAD would stand as open as a GET.
        exposeHeadRoute: false,
        // Each event must leave at once, and there is nothing to gain: they are a line each.
        compress: false,
        config: { isStream: true },
        schema: {
          ...describeRoute('live', 'Be told of changes', {
            description:
              'Server-sent events, one line each and without content: ask for what you show again. `inbox`: a ' +
              'notification was raised, answered or deleted. `deliveries`: a message got on. `knowledge`: a ' +
              'document changed. A comment every 15 seconds keeps the connection open. The stream ends with ' +
              'the access token: come back with a new one, and with the last `id` as `Last-Event-ID`.',
            errors: TOKEN_ERRORS,
          }),
          headers: ResumeHeaders,
          response: { 200: EventText },
        },
      },
      async (request, reply) => {
        const merchantId = merchantOf(request);
        const hub = openHub();
        const stream = new EventStream({
          expiresAt: expiryOf(request),
          now,
          onClose: () => hub.leave(merchantId, stream),
        });
        const versions = await hub.join(merchantId, stream).catch((error) => {
          stream.destroy();
          throw error;
        });
        if (!versions) {
          stream.destroy();
          throw serviceUnavailable();
        }
        // The reader may be gone already.
        if (request.raw.socket.destroyed) stream.destroy();
        stream.begin(versions.inbox);
        const known = request.headers['last-event-id'];
        if (known !== undefined) stream.moved(missedSince(String(known), versions.inbox), versions.inbox);
        return sendLasting(reply, stream);
      },
    );
  };
}

/** Of the other topics nobody knows what was missed. */
const missedSince = (known: string, inboxVersion: string): Topic[] => [
  ...(known === inboxVersion ? [] : (['inbox'] as const)),
  'deliveries',
  'knowledge',
];

function sendLasting(reply: FastifyReply, stream: EventStream) {
  return reply
    .type('text/event-stream; charset=utf-8')
    .headers({ 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' })
    .send(stream as never);
}
