import { createHash, timingSafeEqual } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { metricsRefused, notFound, tokenInvalid, tokenMissing } from '../errors.ts';
import type { Figures, Metrics } from '../metrics.ts';
import { isFromThisMachine } from './address.ts';
import { handleErrors, handleUnknownPaths } from './errors.ts';
import { route } from './openapi.ts';

export interface MetricsParts {
  metrics: Metrics;
  database: Pick<Database, 'connections' | 'canWrite'>;
  readFigures: () => Promise<Figures>;
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
  const own = metricsServer(parts);
  app.addHook('onReady', async () => void (await own.listen({ host, port })));
  app.addHook('onClose', () => own.close());
}

/** `/metrics` and `/healthz` without the rest: for METRICS_PORT, and for a process that has no other address. */
export function metricsServer(
  parts: MetricsParts,
  jobs: () => object[] | undefined = () => undefined,
): FastifyInstance {
  // Whoever has sent half a request must not keep the process from stopping.
  const own = Fastify({ forceCloseConnections: true });
  handleErrors(own);
  handleUnknownPaths(own, undefined);
  addRoute(own, parts);
  // It is alive even if a job fails: the database, or what the job calls, may be away.
  own.get('/healthz', async () => ({ status: 'ok', jobs: jobs() }));
  return own;
}

function addRoute(app: FastifyInstance, parts: MetricsParts): void {
  const { metrics } = parts;
  app.get(
    '/metrics',
    {
      preParsing: async (request) => checkAccess(request, parts),
      ...route('operations', 'Get metrics', {
        operationId: 'getMetrics',
        skipRateLimit: true,
        anyHost: true,
        description:
          'In the Prometheus text format. Needs `METRICS_TOKEN` as bearer token, if that is set. If neither it nor ' +
          '`METRICS_PORT` is set, a server in production answers only calls from its own machine. With `METRICS_PORT`, it is not on this port.',
        errors: [tokenMissing(), metricsRefused(), notFound()],
        open: true,
        response: { 200: MetricsText },
      }),
    },
    async (_request, reply) => {
      await updateFigures(parts);
      return reply.type(metrics.contentType).send(await metrics.text());
    },
  );
}

export async function updateFigures({
  metrics,
  database,
  readFigures,
}: Pick<MetricsParts, 'metrics' | 'database' | 'readFigures'>): Promise<void> {
  // Before the scrape itself takes a connection.
  const connections = database.connections();
  const figures = await readFigures().catch(() => undefined);
  metrics.set(connections, figures, figures !== undefined && (await database.canWrite()));
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
