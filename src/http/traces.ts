import type { FastifyInstance } from 'fastify';
import { isFailure } from '../errors.ts';
import { runWithSpan, type Span, type Tracer } from '../tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent without tracing. */
    span: Span | undefined;
  }
}

/** A span for each request, in the trace of its `traceparent`. Its attributes have the route, never the address itself. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.decorateRequest('span', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const route = request.routeOptions.url;
    const span = tracer.start(
      route === undefined ? request.method : `${request.method} ${route}`,
      'server',
      {
        'http.request.method': request.method,
        'http.route': route,
        'url.scheme': request.protocol,
        'deskbell.request_id': request.id,
      },
      typeof traceparent === 'string' ? traceparent : undefined,
    );
    request.span = span;
    runWithSpan(span, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { span, caller, problem } = request;
    span?.set({
      'http.response.status_code': reply.statusCode,
      'deskbell.merchant_id': caller instanceof Error ? undefined : caller?.merchantId,
      'deskbell.code': problem?.code,
    });
    if (problem && isFailure(problem.code)) span?.fail(problem.code);
    span?.end();
    done();
  });
}
