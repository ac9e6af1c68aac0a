import type { FastifyInstance, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ErrorBody } from '../contract/common.ts';
import {
  type ApiError,
  type Area,
  internalError,
  misdirectedRequest,
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
    /** Which column of the status table applies. The default is `general`. */
    area?: Area;
    /** The response is an open stream, so its duration is not counted in the metrics. */
    isStream?: boolean;
  }
  interface FastifySchema {
    /** The errors that this route can return, for the API document. */
    errors?: readonly ApiError[];
    area?: Area;
  }
}

const TAGS = [
  { name: 'auth', description: 'Sign-in with bearer tokens.' },
  { name: 'keys', description: 'Keys with which a merchant’s programs call the API.' },
  { name: 'session', description: 'Sign-in for the dashboard, with a cookie that no script can read.' },
  {
    name: 'notifications',
    description: 'Questions that the assistant could not answer. The merchant answers them.',
  },
  { name: 'asks', description: 'The assistant asks the merchant and waits for the answer.' },
  { name: 'conversations', description: 'The customers that notifications are about.' },
  { name: 'knowledge', description: 'The documents that the assistant answers from. Answers add to them.' },
  { name: 'deliveries', description: 'Messages to customers and their status.' },
  { name: 'simulator', description: 'A simulated customer phone, for the demo.' },
  { name: 'audit', description: 'Who did what, for the merchant’s owners.' },
  { name: 'live', description: 'Live changes (server-sent events).' },
  { name: 'operations', description: 'Health, metrics and keys, for operators.' },
] as const;

interface Description {
  description: string;
  /** The errors that the route throws. Their texts are the examples in the API document. */
  errors: readonly ApiError[];
  area?: Area;
  /** No bearer token required. */
  open?: boolean;
}

/** Errors that every route can return, and errors of every route with a body. */
const COMMON = [serviceUnavailable(), internalError(undefined)];
const BODY_ERRORS = [payloadTooLarge(BODY_MAX_BYTES), unsupportedMediaType()];

/** The description of a route. The schemas that validate and serialize are next to it. */
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
    // Neither the rate limit nor the check of the host applies to monitoring.
    errors: [...errors, ...(tag === 'operations' ? [] : [rateLimited(30), misdirectedRequest()]), ...COMMON],
    area,
  };
}

/** The schemas only document the input. The route checks it in the order that the contract requires. */
export const skipSchemaValidation = { validatorCompiler: () => () => true };

/** Only documentation: the route reads the id and returns 404 for a text that is not an id. */
export function parameterSchema(name: string): TSchema {
  return Type.Object({ [name]: Type.Integer({ minimum: 1 }) });
}

/** The generated document is a file, because generating it takes a server 15 MB of memory. */
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
          'A customer asks a question that the assistant cannot answer. The assistant raises a notification. The ' +
          'merchant answers it, and the customer receives the answer.\n\n' +
          'Sign in at `POST /api/v1/auth/login`, then send the access token as `Authorization: Bearer …`. ' +
          'Every error has the body `detail`, `code` and, for invalid input, `field`. Check the `code`: the ' +
          'notification endpoints return validation errors with status 500.',
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
