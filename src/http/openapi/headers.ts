import type { ApiError } from '../../errors.ts';

interface Header {
  description: string;
  schema: { type: 'string' | 'integer'; minimum?: number; const?: string; examples?: (string | number)[] };
}

/** Every response header that a client may use, for the API document. */
export const HEADERS = {
  ETag: {
    description: 'Identifies this version. Send it back as `If-None-Match` or `If-Match`.',
    schema: { type: 'string', examples: ['"3-2"'] },
  },
  Link: {
    description: 'The address of the next page, with `rel="next"`. Missing on the last page.',
    schema: { type: 'string', examples: ['</api/v1/delivery/?cursor=ZGVsaXZlcnkgMjE>; rel="next"'] },
  },
  Location: {
    description: 'The address of what was created.',
    schema: { type: 'string', examples: ['/api/v1/notification/12'] },
  },
  'Idempotency-Replayed': {
    description: 'This is the stored response of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  'Set-Cookie': {
    description: 'The refresh token, for this server only: `HttpOnly`, `SameSite=Strict`.',
    schema: { type: 'string' },
  },
  'Cache-Control': {
    description: 'How long the response may be kept.',
    schema: { type: 'string', examples: ['private, no-cache'] },
  },
  'WWW-Authenticate': {
    description: 'The way to sign in.',
    schema: { type: 'string', examples: ['Bearer'] },
  },
  Allow: {
    description: 'The methods that this path accepts.',
    schema: { type: 'string', examples: ['POST'] },
  },
  'Retry-After': {
    description: 'Try again after this many seconds.',
    schema: { type: 'integer', minimum: 1, examples: [30] },
  },
  'RateLimit-Limit': {
    description: 'Requests allowed in a minute. Missing if there is no limit.',
    schema: { type: 'integer', minimum: 1, examples: [600] },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in this minute.',
    schema: { type: 'integer', minimum: 0, examples: [599] },
  },
  'RateLimit-Reset': {
    description: 'Seconds until the next minute begins.',
    schema: { type: 'integer', minimum: 1, examples: [42] },
  },
  'X-Request-Id': {
    description: 'Names this request in the log. It is yours, if you sent one.',
    schema: { type: 'string', examples: ['6f1c1c1e-3a5b-4c0e-9a57-0f5f4e1f7a11'] },
  },
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof HEADERS;

/** Headers of a route that its errors have, too. */
const ALSO_ON_ERRORS = new Set<HeaderName>([
  'Idempotency-Replayed',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Request-Id',
]);

type References = Partial<Record<HeaderName, { $ref: string }>>;

/** The headers of a response: those of the route, and for an error also those that it is thrown with. */
export function headersOf(names: readonly HeaderName[], errors?: readonly ApiError[]): References {
  const thrown = new Set(errors?.flatMap(({ headers }) => Object.keys(headers)));
  const own = errors ? names.filter((name) => ALSO_ON_ERRORS.has(name)) : names;
  const all = (Object.keys(HEADERS) as HeaderName[]).filter(
    (name) => own.includes(name) || thrown.has(name.toLowerCase()),
  );
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
