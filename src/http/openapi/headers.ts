import type { ApiError } from '../../errors.ts';

interface Header {
  description: string;
  schema: { type: 'string' | 'integer'; minimum?: number; const?: string; examples?: (string | number)[] };
}

const text = (description: string, ...examples: string[]): Header => ({
  description,
  schema: { type: 'string', ...(examples.length > 0 && { examples }) },
});
const number = (description: string, minimum: number, example: number): Header => ({
  description,
  schema: { type: 'integer', minimum, examples: [example] },
});

/** Every response header that a client may use, for the API document. */
export const HEADERS = {
  ETag: text('Identifies this version. Send it back as `If-None-Match` or `If-Match`.', '"3-2"'),
  Link: text(
    'The address of the next page, with `rel="next"`. Missing on the last page.',
    '</api/v1/delivery/?cursor=ZGVsaXZlcnkgMjE>; rel="next"',
  ),
  Location: text('The address of what was created.', '/api/v1/notification/12'),
  'Idempotency-Replayed': {
    description: 'This is the stored response of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  'Set-Cookie': text('The refresh token, for this server only: `HttpOnly`, `SameSite=Strict`.'),
  'Cache-Control': text('How long the response may be kept.', 'private, no-cache'),
  'WWW-Authenticate': text('The way to sign in.', 'Bearer'),
  Allow: text('The methods that this path accepts.', 'POST'),
  'Retry-After': number('Try again after this many seconds.', 1, 30),
  'RateLimit-Limit': number('Requests allowed in a minute. Missing if there is no limit.', 1, 600),
  'RateLimit-Remaining': number('Requests left in this minute.', 0, 599),
  'RateLimit-Reset': number('Seconds until the next minute begins.', 1, 42),
  'X-Request-Id': text(
    'Names this request in the log. It is yours, if you sent one.',
    '6f1c1c1e-3a5b-4c0e-9a57-0f5f4e1f7a11',
  ),
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
