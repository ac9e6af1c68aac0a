import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { isFailure } from '../errors.ts';
import type { Metrics } from '../metrics.ts';

/** A log line and a count for each request. */
export function logRequests(app: FastifyInstance, metrics: Metrics, log: Logger): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const code = request.problem?.code;
    const outcome = code === undefined ? 'ok' : isFailure(code) ? 'failed' : 'refused';
    const seconds = request.routeOptions.config.isStream ? undefined : reply.elapsedTime / 1000;
    metrics.request(route, request.method, reply.statusCode, outcome, seconds);
    const { caller } = request;
    log.info(
      {
        request_id: request.id,
        // Here, because the end of a response is no longer part of its request.
        ...(request.span?.isRecorded && { trace_id: request.span.traceId, span_id: request.span.spanId }),
        method: request.method,
        // The pattern, never the address itself, which may contain anything.
        route,
        status: reply.statusCode,
        code,
        ms: Math.round(reply.elapsedTime * 100) / 100,
        merchant_id: caller instanceof Error ? undefined : caller?.merchantId,
      },
      'request',
    );
    done();
  });
}
