import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Keyring } from '../auth/keys.ts';
import type { Database } from '../database/database.ts';
import { serviceUnavailable } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { describeRoute } from './openapi.ts';

interface OperationsParts {
  database: Database;
  keyring: Keyring;
  metrics: Metrics;
}

const Ok = Type.Object({ status: Type.Literal('ok') });

/** For the operator's machines. They are asked often and by few: no limit counts them. */
export function operationsRoutes(
  app: FastifyInstance,
  { database, keyring, metrics }: OperationsParts,
): void {
  const config = { rateLimit: false as const };
  const describe = (summary: string, description: string) =>
    describeRoute('operations', summary, { description, errors: [], open: true });

  app.get(
    '/healthz',
    { config, schema: { ...describe('Liveness', 'The process answers.'), response: { 200: Ok } } },
    async () => ({ status: 'ok' }),
  );

  app.get(
    '/readyz',
    { config, schema: { ...describe('Readiness', 'The database answers too.'), response: { 200: Ok } } },
    async () => {
      try {
        await database.one('select 1 as up');
      } catch (cause) {
        throw serviceUnavailable(cause);
      }
      return { status: 'ok' };
    },
  );

  app.get(
    '/metrics',
    {
      config,
      schema: {
        ...describe('Metrics', 'In the text format of Prometheus.'),
        response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  );

  app.get(
    '/.well-known/jwks.json',
    {
      config,
      schema: {
        ...describe('Public keys', 'The keys that verify this service’s tokens (JWKS).'),
        response: {
          200: Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true })) }),
        },
      },
    },
    async (_request, reply) => reply.header('cache-control', 'public, max-age=60').send(await keyring.jwks()),
  );
}
