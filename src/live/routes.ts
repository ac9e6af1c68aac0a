import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { callerOf, merchantOf, requireMerchant, type WatchRevoked } from '../auth/guard.ts';
import { EventText, ResumeHeaders } from '../contract/live.ts';
import { liftDeadline } from '../database/deadline.ts';
import { serviceUnavailable, TOKEN_ERRORS, tooManyStreams } from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { createHub, type Hub, type HubParts } from './hub.ts';
import { createStreamLimits, type StreamLimitParts } from './limits.ts';
import { EventStream } from './stream.ts';
import type { Topic } from './versions.ts';

export interface LiveParts extends HubParts {
  limits: StreamLimitParts;
  now: () => Date;
  revocations: WatchRevoked;
}

/** Tells clients which topics changed. They fetch the data themselves. */
export function liveRoutes({ now, limits, revocations, ...hubParts }: LiveParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);
    let opened: Hub | undefined;
    const streamLimits = createStreamLimits(limits);
    app.addHook('onClose', async () => streamLimits.close());
    const openHub = () => (opened ??= createHub(hubParts));
    // Start listening to other processes before the first client connects.
    app.addHook('onListen', async () => void openHub());
    // Before the server waits for open connections: streams would stay open until their tokens expire.
    app.addHook('preClose', async () => opened?.close());

    app.get(
      '/events',
      {
        // A HEAD request would stay open like a GET.
        exposeHeadRoute: false,
        // Each event must be sent immediately, and a line is too short to benefit from compression.
        compress: false,
        config: { isStream: true, scopes: ['ask', 'notifications:read', 'knowledge:read', 'webhooks'] },
        schema: {
          ...describeRoute('live', 'Subscribe to changes (SSE)', {
            description:
              'Server-sent events without content: fetch again what you show. `inbox`: a notification was raised, ' +
              'answered or deleted. `deliveries`: the state of a message changed. `knowledge`: a document changed. ' +
              'A comment every 15 seconds keeps the connection open. The stream ends when the access token ' +
              'expires or is revoked: reconnect with a new one, and with the last `id` as `Last-Event-ID`.',
            errors: [...TOKEN_ERRORS, tooManyStreams('user', 20, 10)],
          }),
          headers: ResumeHeaders,
          response: { 200: EventText },
        },
      },
      async (request, reply) => {
        const merchantId = merchantOf(request);
        const caller = callerOf(request);
        const hub = openHub();
        const leave = await streamLimits.enter(merchantId, caller.callerId);
        const stream = new EventStream({
          expiresAt: new Date(caller.expiresAtSeconds * 1000),
          now,
          onClose() {
            unwatch();
            hub.leave(merchantId, stream);
            leave();
          },
        });
        const unwatch = revocations.watch(caller, () => stream.end());
        const versions = await hub.join(merchantId, stream).catch((error) => {
          stream.destroy();
          throw error;
        });
        if (!versions) {
          stream.destroy();
          throw serviceUnavailable();
        }
        // The client may have disconnected already.
        if (request.raw.socket.destroyed) stream.destroy();
        stream.begin(versions.inbox);
        const known = request.headers['last-event-id'];
        if (known !== undefined) stream.changed(missedSince(String(known), versions.inbox), versions.inbox);
        liftDeadline();
        return sendStream(reply, stream);
      },
    );
  };
}

/** Only the inbox's version is known. The other topics may have changed, so they are always included. */
const missedSince = (known: string, inboxVersion: string): Topic[] => [
  ...(known === inboxVersion ? [] : (['inbox'] as const)),
  'deliveries',
  'knowledge',
];

function sendStream(reply: FastifyReply, stream: EventStream) {
  return reply
    .type('text/event-stream; charset=utf-8')
    .headers({ 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' })
    .send(stream as never);
}
