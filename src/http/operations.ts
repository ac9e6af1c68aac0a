import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { serviceUnavailable } from '../errors.ts';
import type { Drain } from './drain.ts';
import { route } from './openapi.ts';

interface OperationsParts {
  database: Database;
  drain: Drain;
  keyring: { jwks(): Promise<{ keys: object[] }> };
}

const Ok = Type.Object(
  { status: Type.Literal('ok') },
  { description: 'It works.', examples: [{ status: 'ok' }] },
);
const Jwks = Type.Object(
  { keys: Type.Array(Type.Object({}, { additionalProperties: true })) },
  {
    description: 'A set of public keys. The `kid` in a token’s header names one of them.',
    examples: [
      { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'f2xkq8', alg: 'EdDSA', use: 'sig', x: '11qYAY' }] },
    ],
  },
);
/** For monitoring. It calls often, so the rate limit does not apply. */
export function operationsRoutes(app: FastifyInstance, { database, drain, keyring }: OperationsParts): void {
  const open = { open: true, skipRateLimit: true };

  app.get(
    '/healthz',
    route('operations', 'Check liveness', {
      operationId: 'checkLiveness',
      description: 'The process responds.',
      ...open,
      anyHost: true,
      response: { 200: Ok },
    }),
    async () => ({ status: 'ok' as const }),
  );

  app.get(
    '/readyz',
    route('operations', 'Check readiness', {
      operationId: 'checkReadiness',
      description:
        'The process and its database respond, the last write did not fail because of the disk, and the process is not about to stop.',
      ...open,
      anyHost: true,
      response: { 200: Ok },
    }),
    async () => {
      if (drain.isOn()) throw serviceUnavailable();
      try {
        await database.one('select 1 as up');
      } catch (cause) {
        throw serviceUnavailable(cause);
      }
      if (!(await database.canWrite())) throw serviceUnavailable();
      return { status: 'ok' as const };
    },
  );

  app.get(
    '/.well-known/jwks.json',
    route('operations', 'Get public keys', {
      operationId: 'getPublicKeys',
      description: 'The keys that verify this service’s tokens (JWKS).',
      ...open,
      response: { 200: Jwks },
    }),
    async (_request, reply) => reply.header('cache-control', 'public, max-age=60').send(await keyring.jwks()),
  );
}
