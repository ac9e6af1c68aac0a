import { type TSchema, Type } from 'typebox';
import {
  type ApiError,
  type Area,
  headersTooLarge,
  internalError,
  misdirectedRequest,
  rateLimited,
  serviceUnavailable,
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
    area?: Area;
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

interface Description {
  /** The name of the function in a generated client: a verb and a noun, such as `listNotifications`. */
  operationId: string;
  description: string;
  /** The errors that the route throws. Their texts are the examples in the API document. */
  errors: readonly ApiError[];
  /** The headers of its successful responses, beside those of every response. */
  headers?: readonly HeaderName[];
  /** The request may come without a body. */
  optionalBody?: boolean;
  area?: Area;
  /** No bearer token required. */
  open?: boolean;
  /** For keys of any scope, not for people. */
  keysOnly?: boolean;
}

/** Errors that every route can return. */
const COMMON = [headersTooLarge(), serviceUnavailable(), internalError(undefined)];

/** The description of a route. The schemas that validate and serialize are next to it. */
export function describeRoute(
  tag: (typeof TAGS)[number]['name'],
  summary: string,
  { operationId, description, errors, headers = [], area = 'general', ...options }: Description,
) {
  const isMonitoring = tag === 'operations';
  const limits: HeaderName[] = isMonitoring
    ? []
    : ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: options.open ? [] : [options.keysOnly ? { key: [] } : { bearer: [] }],
    // Neither the rate limit nor the check of the host applies to monitoring.
    errors: [...errors, ...(isMonitoring ? [] : [rateLimited(30), misdirectedRequest()]), ...COMMON],
    responseHeaders: [...headers, ...limits, 'X-Request-Id' as const],
    area,
    optionalBody: options.optionalBody ?? false,
  };
}

/** The schemas only document the input. The route checks it in the order that the contract requires. */
export const skipSchemaValidation = { validatorCompiler: () => () => true };

/** Only documentation: the route reads the id and returns 404 for a text that is not an id. */
export function parameterSchema(...names: [string, ...string[]]): TSchema {
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.Integer({ minimum: 1 })])));
}

/** The generated document is a file, because generating it takes a server 15 MB of memory. */
export const OPENAPI_FILE = shippedFile('openapi.json');
