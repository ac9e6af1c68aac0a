import type { FastifyInstance, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ErrorBody } from '../contract/common.ts';
import {
  type ApiError,
  type Area,
  internalError,
  payloadTooLarge,
  rateLimited,
  serviceUnavailable,
  statusOf,
  unsupportedMediaType,
} from '../errors.ts';
import { VERSION } from '../version.ts';
import { BODY_MAX_BYTES } from './json.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which column of the table of statuses applies; `general` if absent. */
    area?: Area;
    /** Its response takes as long as somebody listens: how long that was says nothing about the server. */
    isStream?: boolean;
  }
  interface FastifySchema {
    /** The errors this route may answer with; the document makes responses of them. */
    errors?: readonly ApiError[];
    area?: Area;
  }
}

const TAGS = [
  { name: 'auth', description: 'Sign-in with bearer tokens.' },
  { name: 'session', description: 'Sign-in of the dashboard, by a cookie that no script can read.' },
  { name: 'notifications', description: 'What the assistant could not answer, for the merchant to answer.' },
  { name: 'conversations', description: 'The customers behind the notifications.' },
  { name: 'knowledge', description: 'What the assistant knows, and what answers teach it.' },
  { name: 'deliveries', description: 'The messages to customers, and what became of them.' },
  { name: 'simulator', description: 'A customer’s telephone, for the demo.' },
  { name: 'live', description: 'Changes, as they happen.' },
  { name: 'operations', description: 'For those who run the service.' },
] as const;

interface Description {
  description: string;
  /** One of each, as the route throws them: their texts are the document's examples. */
  errors: readonly ApiError[];
  area?: Area;
  /** Needs no bearer token. */
  open?: boolean;
}

/** What every route may answer besides its own, and every route with a body. */
const COMMON = [serviceUnavailable(), internalError(undefined)];
const BODY_ERRORS = [payloadTooLarge(BODY_MAX_BYTES), unsupportedMediaType()];

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
    // Operators' machines are not counted by the limit.
    errors: [...errors, ...(tag === 'operations' ? [] : [rateLimited(30)]), ...COMMON],
    area,
  };
}

/** The schemas describe what arrives; the route itself judges it, in the order of the contract. */
export const skipSchemaValidation = { validatorCompiler: () => () => true };

/** Ids are read by the route itself: a text that is no id names nothing. */
export function parameterSchema(name: string): TSchema {
  return Type.Object({ [name]: Type.Integer({ minimum: 1 }) });
}

/** Where the document is kept, so that a server need not make it: that took it 15 MB. */
export const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url);

/** Collects every route that is registered after it. */
export async function collectOpenApi(app: FastifyInstance): Promise<void> {
  const { default: swagger } = await import('@fastify/swagger');
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
        schemas: { Error: ErrorBody as object },
      },
    },
    transform: ({ schema, url }) => ({ schema: withErrorResponses(schema), url }),
  });
}

function withErrorResponses(schema: FastifySchema): FastifySchema {
  const { errors: own = [], area = 'general', ...rest } = schema ?? {};
  const errors = [...own, ...(rest.body ? BODY_ERRORS : [])];
  const byStatus = Map.groupBy(errors, ({ code }) => statusOf(code, area));
  const responses = [...byStatus].map(([status, problems]) => [
    status,
    {
      description: [...new Set(problems.map(({ code }) => `\`${code}\``))].join(', '),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(
            problems.map((problem) => [problem.message, { value: problem.body() }]),
          ),
        },
      },
    },
  ]);
  return { ...rest, response: { ...(rest.response as object), ...Object.fromEntries(responses) } };
}

export function openApiText(app: FastifyInstance): string {
  return `${JSON.stringify(app.swagger(), null, 2)}\n`;
}
