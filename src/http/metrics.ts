import { createHash, timingSafeEqual } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { metricsRefused, notFound, tokenInvalid, tokenMissing } from '../errors.ts';
import type { Metrics, QueueFigures } from '../metrics.ts';
import { isFromThisMachine } from './address.ts';
import { handleErrors, handleUnknownPaths } from './errors.ts';
import { describeRoute } from './openapi.ts';

export interface MetricsParts {
  metrics: Metrics;
  queueFigures: () => Promise<QueueFigures>;
  host: string;
  metricsToken: string | undefined;
  metricsPort: number | undefined;
  production: boolean;
}

const MetricsText = {
  description: 'Counters, gauges and histograms.',
  content: {
    'text/plain': { schema: Type.String({ examples: ['deskbell_http_requests_total{outcome="ok"} 1'] }) },
  },
};

/** `/metrics`: with METRICS_PORT on a port of its own. If that cannot be used, the app does not listen either. */
export function metricsRoutes(app: FastifyInstance, parts: MetricsParts): void {
  const { host, metricsPort: port } = parts;
  if (port === undefined) {
    addRoute(app, parts);
    return;
  }
  const own = Fastify();
  handleErrors(own);
  handleUnknownPaths(own, undefined);
  addRoute(own, parts);
  app.addHook('onReady', async () => void (await own.listen({ host, port })));
  app.addHook('onClose', () => own.close());
}

function addRoute(app: FastifyInstance, parts: MetricsParts): void {
  const { metrics, queueFigures } = parts;
  app.get(
    '/metrics',
    {
      config: { skipRateLimit: true, anyHost: true },
      schema: {
        ...describeRoute('operations', 'Get metrics', {
          operationId: 'getMetrics',
          description:
            'In the Prometheus text format. Needs `METRICS_TOKEN` as bearer token, if that is set. If neither it nor ' +
            '`METRICS_PORT` is set, a server in production answers only calls from its own machine. With `METRICS_PORT`, it is not on this port.',
          errors: [tokenMissing(), metricsRefused(), notFound()],
          open: true,
        }),
        response: { 200: MetricsText },
      },
      preParsing: async (request) => checkAccess(request, parts),
    },
    async (_request, reply) => {
      const queue = await queueFigures().catch(() => undefined);
      return reply.type(metrics.contentType).send(await metrics.text(queue));
    },
  );
}

function checkAccess(request: FastifyRequest, { metricsToken, metricsPort, production }: MetricsParts): void {
  if (metricsToken !== undefined) {
    const [, given] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    if (given === undefined) throw tokenMissing();
    if (!timingSafeEqual(digest(given), digest(metricsToken))) throw tokenInvalid();
  } else if (production && metricsPort === undefined && !isFromThisMachine(request)) {
    throw metricsRefused();
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest();
