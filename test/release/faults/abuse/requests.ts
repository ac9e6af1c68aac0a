import fc, { type Arbitrary } from 'fast-check';
import { type Body, bodyFor, EMPTY, oddText, type Schema } from './bodies.ts';
import type { Attack } from './exchange.ts';

/** Requests to every operation of the OpenAPI document, with all kinds of unusual input. */

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

type Header = readonly [name: string, value: string];

const ODD_IDS = [
  ...'0 -1 1e3 1.0 01 0x1 +1 ٣ abc null __proto__ 1%00 %00 %ff%fe % %zz ..'.split(' '),
  ...'%2e%2e%2f%2e%2e%2fetc%2fpasswd 1%2fanswer 1;x=1'.split(' '),
  `1'%20or%20'1'='1`,
  '9007199254740993',
  '9223372036854775808',
  `1${'0'.repeat(30)}`,
  '9'.repeat(10_000),
  '',
  '%F0%9F%98%80',
];
const oddId = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }).map(String) },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_IDS) },
  { weight: 1, arbitrary: oddText.map((text) => encodeURIComponent(text.toWellFormed())) },
);

const queryValue = fc.oneof(
  fc.constantFrom(
    '',
    ...'1 0 -1 requested answered failed 1e9 1,2,3 % %ff %00'.split(' '),
    'a'.repeat(8000),
    'Europe/Madrid',
    'Not/AZone',
    '9'.repeat(400),
    'YmVmb3JlIDE',
    '*',
  ),
  oddText.map((text) => encodeURIComponent(text.toWellFormed())),
);
const unknownName = fc.constantFrom(
  ...'x __proto__ __proto__[x] constructor[prototype] a[b][c] limit[] limit[a] %00'.split(' '),
  '',
  '&&&',
  '?',
  '#',
);

function queryFor(names: readonly string[]): Arbitrary<string> {
  const name =
    names.length > 0
      ? fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, unknownName)
      : unknownName;
  const pair = fc.tuple(name, queryValue).map(([key, value]) => `${key}=${value}`);
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('') },
    {
      weight: 3,
      arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(pair, fc.constantFrom(50, 800))
        .map(([it, times]) => `?${`${it.slice(0, 15)}&`.repeat(times)}`),
    },
  );
}

const headerText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    ',',
    '*',
    '"',
    'W/"1-x"',
    '"1-x", *',
    'bytes=0-',
    'bytes=9-1,0-0',
    '\t',
    '__proto__',
    'a'.repeat(1000),
    'é',
    '\x01',
    '\x7f',
    '\0',
    'gzip;q=0, br;q=x, *;q=9e99',
    '127.0.0.1, ::1',
    'true',
  ),
  fc.string({ unit: fc.constantFrom(...' !"#$%&()*+,-./0;<=>?@[]^_`{|}~aZ\xff\x80'), maxLength: 30 }),
);
const HEADER_NAMES = [
  ...'Accept Accept-Encoding Accept-Language If-None-Match If-Match If-Modified-Since'.split(' '),
  ...'Idempotency-Key Last-Event-ID Range Host Cookie Origin Referer User-Agent X-Forwarded-For'.split(' '),
  ...'X-Forwarded-Host X-HTTP-Method-Override X-Request-Id X-Deskbell-Dashboard Sec-Fetch-Site'.split(' '),
  ...'Authorization Connection Upgrade TE Trailer Via __proto__ constructor'.split(' '),
];
const oddHeader: Arbitrary<Header> = fc.tuple(fc.constantFrom(...HEADER_NAMES), headerText);
const headers: Arbitrary<readonly Header[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 6, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(oddHeader, fc.constantFrom(5, 100, 1500))
      .map(([it, times]) => Array.from({ length: times }, () => it)),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(100, 3000)
      .map((count) => Array.from({ length: count }, (_, n): Header => [`X-${n}`, '1'])),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(8000, 17_000, 100_000)
      .map((length): Header[] => [['X-Long', 'x'.repeat(length)]]),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('100-continue', '200-ok', '').map((value): Header[] => [['Expect', value]]),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(' X', 'X Y', 'X\x00', '', 'X\t', '(x)', 'é')
      .map((name): Header[] => [[name, '1']]),
  },
);

/** How the headers announce the body; `half` if the headers announce more than the bytes that follow. */
type Framing = (bytes: Buffer) => { headers: Header[]; bytes: Buffer; half?: boolean };
const length =
  (value: (bytes: Buffer) => string, half = true): Framing =>
  (bytes) => ({ headers: [['Content-Length', value(bytes)]], bytes, half });
const chunked =
  (form: (bytes: Buffer) => string | Buffer, half = true, encoding = 'chunked'): Framing =>
  (bytes) => ({ headers: [['Transfer-Encoding', encoding]], bytes: Buffer.from(form(bytes)), half });
const chunks = (bytes: Buffer) =>
  Buffer.concat([
    ...(bytes.length > 0
      ? [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]
      : []),
    Buffer.from('0\r\n\r\n'),
  ]);

const CORRECT: Framing = (bytes) => ({
  headers: bytes.length > 0 ? [['Content-Length', String(bytes.length)]] : [],
  bytes,
});
const ODD_FRAMINGS: readonly Framing[] = [
  length((bytes) => String(bytes.length + 10)),
  length((bytes) => String(Math.max(0, bytes.length - 5))),
  length(() => '-1'),
  length(() => '+5'),
  length(() => '0x10'),
  length(() => '1e3'),
  length(() => '5, 5'),
  length(() => ''),
  length(() => '99999999999999999999999'),
  length(() => String(2 ** 31)),
  (bytes) => ({
    headers: [
      ['Content-Length', String(bytes.length)],
      ['Content-Length', '1'],
    ],
    bytes,
    half: true,
  }),
  (bytes) => ({
    headers: [
      ['Content-Length', String(bytes.length)],
      ['Transfer-Encoding', 'chunked'],
    ],
    bytes: chunks(bytes),
    half: true,
  }),
  chunked(chunks, false),
  chunked(chunks, true, 'identity'),
  chunked(chunks, true, 'xchunked'),
  chunked(chunks, true, 'chunked, chunked'),
  chunked(chunks, true, 'gzip, chunked'),
  chunked(chunks, true, '\x0bchunked'),
  chunked(() => 'zz\r\nabc\r\n0\r\n\r\n'),
  chunked(() => '-5\r\nabcde\r\n0\r\n\r\n'),
  chunked(() => 'ffffffffffffffff\r\nabc'),
  chunked(() => `5;${'x'.repeat(20_000)}\r\nabcde\r\n0\r\n\r\n`),
  chunked(() => '0\r\nX-Trailer: 1\r\n\r\n', false),
  chunked(() => `0\r\nX-Trailer: ${'x'.repeat(20_000)}\r\n\r\n`),
  chunked(() => '1\r\n{'.repeat(1000)),
];

const authorization = (token: string): Arbitrary<readonly Header[]> => {
  const bearer: Header = ['Authorization', `Bearer ${token}`];
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant([bearer]) },
    { weight: 2, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('Bearer ', 'Basic ', 'bearer', ''), headerText)
        .map(([scheme, text]): Header[] => [['Authorization', scheme + text]]),
    },
    { weight: 1, arbitrary: fc.constant([bearer, bearer]) },
  );
};

const OTHER_METHODS = [
  ...'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND M-SEARCH get BREW'.split(' '),
  '',
];

export interface RequestParts {
  method: string;
  target: string;
  headers: readonly Header[];
  body: Buffer;
  half: boolean;
}

export const bytesOf = ({ method, target, headers, body }: Omit<RequestParts, 'half'>): Buffer => {
  const host = headers.some(([name]) => name === 'Host') ? [] : [['Host', 'x'] as const];
  const lines = [...host, ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    body,
  ]);
};

/** Every operation is equally likely. */
export function requestsTo(document: ApiDocument, token: string): Arbitrary<Attack> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      requestTo(path, method.toUpperCase(), operation, token),
    ),
  );
  return fc.oneof(...operations);
}

function requestTo(path: string, method: string, operation: Operation, token: string): Arbitrary<Attack> {
  const { parameters = [], requestBody } = operation;
  const query = parameters.filter((it) => it.in === 'query').map(({ name }) => name);
  const schema = requestBody?.content['application/json']?.schema;
  const givenMethod = fc.oneof(
    { weight: 14, arbitrary: fc.constant(method) },
    { weight: 1, arbitrary: fc.constantFrom(...OTHER_METHODS) },
  );
  const body: Arbitrary<Body> =
    method === 'GET'
      ? fc.oneof({ weight: 5, arbitrary: fc.constant(EMPTY) }, bodyFor(schema))
      : bodyFor(schema);
  const framing = fc.oneof(
    { weight: 8, arbitrary: fc.constant(CORRECT) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_FRAMINGS) },
  );
  const dashboard: Header[] = path.startsWith('/session') ? [['X-Deskbell-Dashboard', '1']] : [];
  return fc
    .tuple(givenMethod, oddId, queryFor(query), authorization(token), headers, body, framing)
    .map(([verb, id, search, auth, odd, { bytes, headers: ofBody }, frame]) => {
      const framed = frame(bytes);
      const target = path.replace(/\{\w+\}/, () => id) + search;
      const all = [...auth, ...dashboard, ...ofBody, ...odd, ...framed.headers];
      return {
        bytes: bytesOf({ method: verb, target, headers: all, body: framed.bytes }),
        methods: [verb],
        half: framed.half ?? false,
      };
    });
}
