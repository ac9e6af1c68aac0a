import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyContextConfig } from 'fastify';
import {
  type ApiError,
  type Area,
  headersTooLarge,
  internalError,
  misdirectedRequest,
  rateLimited,
  serviceUnavailable,
  TOKEN_ERRORS,
} from '../errors.ts';
import { shippedFile } from '../installation.ts';
import type { HeaderName } from './openapi/headers.ts';

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
    responseHeaders?: readonly HeaderName[];
    /** The request may come without a body. */
    optionalBody?: boolean;
  }
}

export const TAGS = [
  { name: 'auth', description: 'Sign-in with bearer tokens.' },
  { name: 'merchant', description: 'The merchant’s own settings.' },
  { name: 'team', description: 'The people of the merchant, invitations and new passwords.' },
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
  { name: 'webhooks', description: 'Your own systems that receive events.' },
  { name: 'alerts', description: 'How people hear of questions on their devices and by e-mail.' },
  { name: 'live', description: 'Live changes (server-sent events).' },
  { name: 'operations', description: 'Health, metrics and keys, for operators.' },
] as const;

interface Description extends FastifyContextConfig {
  /** The name of the function in a generated client: a verb and a noun, such as `listNotifications`. */
  operationId: string;
  description: string;
  /** The errors that the route throws, besides `TOKEN_ERRORS`. Their texts are the examples in the API document. */
  errors?: readonly ApiError[];
  /** The headers of its successful responses, besides those of every response. */
  responseHeaders?: readonly HeaderName[];
  /** The request may come without a body. */
  optionalBody?: boolean;
  /** No bearer token required. */
  open?: boolean;
  /** For keys of any scope, not for people. */
  keysOnly?: boolean;
}

/** What goes in and out. */
interface RouteSchemas {
  params?: unknown;
  querystring?: unknown;
  headers?: unknown;
  body?: unknown;
  response?: unknown;
}

/** Where a feature adds its routes. */
export type App = Parameters<FastifyPluginAsyncTypebox>[0];

/** Errors that every route can return. */
const COMMON = [headersTooLarge(), serviceUnavailable(), internalError(undefined)];

/** The options of a route: who may call it, its description in the API document, and the schemas of what goes in and out. */
export function route<Schemas extends RouteSchemas>(
  tag: (typeof TAGS)[number]['name'],
  summary: string,
  options: Description & Schemas,
) {
  const { operationId, description, errors = [], responseHeaders = [], optionalBody, ...others } = options;
  const { open, keysOnly, area, scopes, isStream, skipRateLimit, anyHost, ...schemas } = others;
  const isMonitoring = tag === 'operations';
  const limits: HeaderName[] = isMonitoring
    ? []
    : ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
  return {
    config: { area, scopes, isStream, skipRateLimit, anyHost } as FastifyContextConfig,
    schema: {
      operationId,
      tags: [tag],
      summary,
      description,
      security: open ? [] : [keysOnly ? { key: [] } : { bearer: [] }],
      errors: [
        // The routes of a person's own sign-in need no merchant, so they name their errors themselves.
        ...(open || tag === 'auth' ? [] : TOKEN_ERRORS),
        ...errors,
        // Neither the rate limit nor the check of the host applies to monitoring.
        ...(isMonitoring ? [] : [rateLimited(30), misdirectedRequest()]),
        ...COMMON,
      ],
      responseHeaders: [...responseHeaders, ...limits, 'X-Request-Id' as const],
      optionalBody: optionalBody ?? false,
      ...(schemas as unknown as Pick<Schemas, keyof Schemas & keyof RouteSchemas>),
    },
  };
}

/** The generated document is a file, because generating it takes a server 15 MB of memory. */
export const OPENAPI_FILE = shippedFile('openapi.json');
