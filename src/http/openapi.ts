import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ErrorBody } from '../contract/common.ts';
import { type Area, type ErrorCode, statusOf } from '../errors.ts';
import { VERSION } from '../version.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which column of the table of statuses applies; `general` if absent. */
    area?: Area;
  }
  interface FastifySchema {
    /** The errors this route may answer with; the document makes responses of them. */
    errors?: readonly ErrorCode[];
    area?: Area;
  }
}

const TAGS = [
  { name: 'auth', description: 'Sign-in with bearer tokens.' },
  { name: 'notifications', description: 'What the assistant could not answer, for the merchant to answer.' },
  { name: 'operations', description: 'For those who run the service.' },
] as const;

interface Description {
  description: string;
  errors: readonly ErrorCode[];
  area?: Area;
  /** Needs no bearer token. */
  open?: boolean;
}

/** What every route may answer besides its own. */
const COMMON: readonly ErrorCode[] = ['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'];

/** Describes a route; the schemas that check and serialize stand beside it. */
export function describeRoute(
  tag: (typeof TAGS)[number]['name'],
  summary: string,
  { description, errors, area = 'general', open = false }: Description,
) {
  return {
    tags: [tag],
    summary,
    description,
    security: open ? [] : [{ bearer: [] }],
    errors: [...errors, ...COMMON],
    area,
  };
}

/** Ids are read by the route itself: a text that is no id names nothing. */
export function parameterSchema(name: string): TSchema {
  return Type.Object({ [name]: Type.Integer({ minimum: 1 }) });
}

/** Collects every route that is registered after it. */
export async function collectOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Deskbell',
        version: VERSION,
        description:
          'A customer asks; the assistant cannot answer; it rings the bell; the merchant answers.\n\n' +
          'Sign in at `POST /api/v1/auth/login`, then send the access token as `Authorization: Bearer …`. ' +
          'Every error has the body `detail`, `code` and, where it fits, `field`. Branch on `code`: the ' +
          'notification endpoints answer validation failures with status 500.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [...TAGS],
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      },
    },
    transform: ({ schema, url }) => ({ schema: withErrorResponses(schema), url }),
  });
}

function withErrorResponses(schema: FastifySchema): FastifySchema {
  const { errors = [], area = 'general', ...rest } = schema ?? {};
  const byStatus = Map.groupBy(errors, (code) => statusOf(code, area));
  const responses = [...byStatus].map(([status, codes]) => [
    status,
    {
      ...ErrorBody,
      description: codes.map((code) => `\`${code}\``).join(', '),
      examples: codes.map((code) => ({ detail: '…', code })),
    },
  ]);
  return { ...rest, response: { ...(rest.response as object), ...Object.fromEntries(responses) } };
}

export function openApiText(app: FastifyInstance): string {
  return `${JSON.stringify(app.swagger(), null, 2)}\n`;
}
