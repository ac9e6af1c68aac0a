import type { FastifyInstance, FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { ErrorBody } from '../../contract/common.ts';
import {
  type Area,
  badRequest,
  insufficientScope,
  notForKeys,
  payloadTooLarge,
  statusOf,
  unsupportedMediaType,
} from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { BODY_MAX_BYTES } from '../json.ts';
import { TAGS } from '../openapi.ts';
import { HEADERS, headersOf } from './headers.ts';
import { nameResponses, operationsOf } from './responses.ts';
import { nameSchemas } from './schemas.ts';

/** Marks a route until its document is complete: @fastify/swagger requires every body. */
const OPTIONAL_BODY = 'x-optional-body';

/** Errors of every route with a body. */
const BODY_ERRORS = [
  payloadTooLarge(BODY_MAX_BYTES),
  unsupportedMediaType(),
  badRequest('The length of the body differs from its Content-Length header.'),
];

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
          'People sign in at `POST /api/v1/auth/login`, then send the access token as `Authorization: Bearer …`. ' +
          'Programs send a key `dbk_…` instead; each endpoint lists the scopes of which the key needs one.\n\n' +
          'Every error has the body `detail`, `code` and, for invalid input, `field`. Check the `code`: the ' +
          'notification endpoints return validation errors with status 500. A path that is called with another ' +
          'method than those listed returns 405 `METHOD_NOT_ALLOWED` with the header `Allow`.',
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'The operator of this server' },
      },
      servers: [{ url: '/', description: 'This server.' }],
      tags: [...TAGS],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'The access token of a person.',
          },
          key: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'dbk_…',
            description: 'The key of a program. It needs one of the listed scopes.',
          },
        },
        schemas: { Error: ErrorBody as object },
        headers: HEADERS,
      },
    },
    convertConstToEnum: false,
    transform: ({ schema, url, route }) => ({
      schema: withResponses(withKeys(withIds(schema, url), route.config?.scopes), route.config?.area),
      url,
    }),
  });
}

/** The names in an address are ids, but not those of the simulator, whose document is older. The route reads them. */
function withIds(schema: FastifySchema, url: string): FastifySchema {
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name]) => [name, Type.Integer({ minimum: 1 })]);
  if (names.length === 0 || schema.tags?.includes('simulator')) return schema;
  return { params: Type.Object(Object.fromEntries(names)), ...schema };
}

/** A key needs one of the scopes, so each is an alternative. A key that has none of them is refused. */
function withKeys(schema: FastifySchema, scopes: readonly string[] | undefined): FastifySchema {
  const { security = [], errors = [], tags } = schema ?? {};
  const isForPeople = security.some(({ bearer }) => bearer);
  // To sign-in, a key is not a valid token.
  if (!isForPeople || tags?.includes('auth')) return schema;
  return {
    ...schema,
    security: [...security, ...(scopes ?? []).map((scope) => ({ key: [scope] }))],
    errors: [...errors, scopes ? insufficientScope(scopes) : notForKeys()],
  };
}

/** Adds the errors, and the headers of every response. */
function withResponses(schema: FastifySchema, area: Area = 'general'): FastifySchema {
  const { errors: own = [], responseHeaders = [], optionalBody, ...rest } = schema ?? {};
  const errors = [...own, ...(rest.body ? BODY_ERRORS : [])];
  const succeeded = Object.entries(rest.response ?? {}).map(([status, response]) => [
    status,
    // A list that has not changed has no pages.
    {
      ...response,
      headers: headersOf(responseHeaders.filter((name) => status !== '304' || name !== 'Link')),
    },
  ]);
  const byStatus = Map.groupBy(errors, ({ code }) => statusOf(code, area));
  const failed = [...byStatus].map(([status, problems]) => [
    status,
    {
      description: [...new Set(problems.map(({ code }) => `\`${code}\``))].join(', '),
      headers: headersOf(responseHeaders, problems),
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
  return {
    ...rest,
    response: Object.fromEntries([...succeeded, ...failed]),
    ...(optionalBody ? { [OPTIONAL_BODY]: true } : {}),
  };
}

export function openApiText(app: FastifyInstance): string {
  const document = nameResponses(nameSchemas(app.swagger()));
  for (const operation of operationsOf(document)) {
    if (operation[OPTIONAL_BODY]) operation.requestBody!.required = false;
    delete operation[OPTIONAL_BODY];
  }
  return `${JSON.stringify(document, null, 2)}\n`;
}
