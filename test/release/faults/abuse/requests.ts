import { gzipSync } from 'node:zlib';
import fc, { type Arbitrary } from 'fast-check';
import { BODY_MAX_BYTES } from '../../../../src/http/json.ts';
import type { Attack } from './exchange.ts';

/** Requests to every operation of the OpenAPI document with all kinds of odd input, and bytes that are no request. */

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
}
interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
}
type Header = readonly [name: string, value: string];

const words = (text: string) => text.split(' ');
const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;

const ODD_TEXTS = [
  ...['', ' ', '\0', 'a\0b', '\ufeff', '\u202e\u2066', '\ufffe\uffff', '😀'.repeat(50), 'é'.normalize('NFD')],
  ...[
    `' or '1'='1`,
    `'; drop table users; --`,
    '*:* AND "near/2" (x OR',
    '\r\nSet-Cookie: x=1',
    'a'.repeat(5000),
  ],
  ...words('%s%n{{7*7}} ../../../../etc/passwd <script>alert(1)</script> +34600000000 null'),
];
/** As JSON text, because JSON.stringify would change some of them. */
const ODD_LITERALS = [
  ...words('1e400 -1e400 -0 9007199254740993 99999999999999999999999999999999 5e-324 0.1 [] {} null true'),
  ...words('"\\ud800" "\\udc00\\ud800" "\\u0000" {"__proto__":{"admin":true}} {"a":1,"a":2,"a":{}}'),
  ...words('{"constructor":{"prototype":{"x":1}}} {"toString":1,"toJSON":3,"then":4,"length":-1}'),
  ...[nested('[', ']', 61), nested('{"a":', '}', 65), nested('[{"":', '}]', 50_000)],
  ...[`[${'0,'.repeat(20_000)}0]`, `{${Array.from({ length: 5000 }, (_, n) => `"k${n}":${n}`).join()}}`],
];
const ODD_IDS = [
  ...words('0 -1 1e3 1.0 01 0x1 +1 ٣ abc null __proto__ 1%00 %ff%fe % %zz .. %2e%2e%2fetc%2fpasswd 1;x=1'),
  ...['', `1'%20or%20'1'='1`, '9223372036854775808', '9'.repeat(10_000), '%F0%9F%98%80'],
];
const QUERY_VALUES = [
  ...['', 'a'.repeat(8000), '9'.repeat(400)],
  ...words('1 0 -1 requested answered failed 1e9 1,2,3 % %ff %00 Europe/Madrid Not/AZone YmVmb3JlIDE *'),
];
const UNKNOWN_NAMES = words('x __proto__ constructor[prototype] a[b][c] limit[] %00 &&& ? #');
const HEADER_NAMES = words(
  'Accept Accept-Encoding If-None-Match If-Match If-Modified-Since Idempotency-Key Last-Event-ID Range Host ' +
    'Cookie Origin X-Forwarded-For X-HTTP-Method-Override X-Request-Id X-Deskbell-Dashboard Authorization ' +
    'Connection Upgrade TE Expect Content-Encoding Content-Type __proto__',
);
const HEADER_VALUES = [
  ...['', ' ', ',', '"', '"1-x", *', '\t', 'é', '\x01', '\0', 'a'.repeat(1000), 'x'.repeat(100_000)],
  ...words(
    '* W/"1-x" bytes=0- bytes=9-1,0-0 __proto__ gzip;q=0,br;q=x 127.0.0.1,::1 100-continue gzip text/plain',
  ),
  ...words('application/json;charset="x multipart/form-data;boundary=x application/x-www-form-urlencoded'),
];
const OTHER_METHODS = words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND M-SEARCH get BREW');

const oddText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
const inUrl = oddText.map((text) => encodeURIComponent(text.toWellFormed()));
const oddValue: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_LITERALS),
  oddText.map((text) => JSON.stringify(text)),
  fc.json(),
);

function valueFor(schema: Schema): Arbitrary<string> {
  if (schema.enum) return fc.constantFrom(...schema.enum).map((value) => JSON.stringify(value));
  switch (schema.type) {
    case 'string':
      return oddText.map((text) => JSON.stringify(text));
    case 'integer':
      return fc.oneof(fc.integer({ min: 1, max: 12 }), fc.maxSafeInteger()).map(String);
    case 'boolean':
      return fc.boolean().map(String);
    case 'object':
      return objectFor(schema);
    default:
      return oddValue;
  }
}

/** Members are missing, wrong, repeated or unknown. */
function objectFor({ properties = {} }: Schema): Arbitrary<string> {
  const members = Object.entries(properties).map(([name, schema]) =>
    fc
      .tuple(
        fc.constantFrom(...Array(12).fill(name), name.toUpperCase(), '__proto__'),
        fc.oneof({ weight: 4, arbitrary: valueFor(schema) }, { weight: 1, arbitrary: oddValue }),
        fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 0),
      )
      .map(([key, value, times]) => Array<string>(times).fill(`${JSON.stringify(key)}:${value}`)),
  );
  const unknown = fc.tuple(oddText, oddValue).map(([key, value]) => [`${JSON.stringify(key)}:${value}`]);
  return fc
    .tuple(...members, fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: unknown }))
    .map((parts) => `{${parts.flat().join(',')}}`);
}

/** What is done to a body: half a text, other quotes, another encoding, too long, and so on. */
const SPOILED: readonly ((text: string) => string | Buffer)[] = [
  (text) => text.slice(0, text.length / 2),
  (text) => `${text},`,
  (text) => text.replaceAll('"', "'"),
  (text) => text.replace(/:[^,}]*/, ':NaN'),
  (text) => text.replace(/"$/, '\t\n"'),
  (text) => `\ufeff${text}`,
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.from(text.replace(/"/, '"\xff\xed\x80'), 'latin1'),
  (text) => gzipSync(text),
  () => '',
  () => ' '.repeat(BODY_MAX_BYTES + 1),
  () => '['.repeat(BODY_MAX_BYTES),
  () => `{"email":"${'\\n'.repeat((BODY_MAX_BYTES - 12) / 2)}"}`,
  () => '9'.repeat(BODY_MAX_BYTES * 3),
];

const bodyFor = (schema: Schema = {}): Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.oneof({ weight: 4, arbitrary: objectFor(schema) }, { weight: 1, arbitrary: oddValue }),
      fc.oneof(
        { weight: 3, arbitrary: fc.constant(Buffer.from) },
        { weight: 1, arbitrary: fc.constantFrom(...SPOILED) },
      ),
    )
    .map(([text, spoil]) => Buffer.from(spoil(text) as string));

/** The headers that announce the body; `half` if they announce something else than the bytes that follow. */
interface Framed {
  headers: Header[];
  bytes: Buffer;
  half: boolean;
}
const chunked = (bytes: Buffer | string, encoding = 'chunked'): Framed => ({
  headers: [['Transfer-Encoding', encoding]],
  bytes: Buffer.from(bytes as string),
  half: true,
});
const inChunks = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
const ofLength = (bytes: Buffer, ...lengths: (string | number)[]): Framed => ({
  headers: lengths.map((length) => ['Content-Length', String(length)]),
  bytes,
  half: true,
});
const plain = (bytes: Buffer): Framed => ({ ...ofLength(bytes, bytes.length), half: false });
const ODD_FRAMINGS: readonly ((bytes: Buffer) => Framed)[] = [
  ...['-1', '+5', '0x10', '5, 5', '', '99999999999999999999999', 2 ** 31].map(
    (length) => (bytes: Buffer) => ofLength(bytes, length),
  ),
  (bytes) => ofLength(bytes, bytes.length + 10),
  (bytes) => ofLength(bytes, bytes.length, 1),
  ...words('chunked identity xchunked gzip,chunked').map(
    (encoding) => (bytes: Buffer) => chunked(inChunks(bytes), encoding),
  ),
  (bytes) => ({
    ...chunked(inChunks(bytes)),
    headers: [...plain(bytes).headers, ['Transfer-Encoding', 'chunked']],
  }),
  () => chunked('zz\r\nabc\r\n0\r\n\r\n'),
  () => chunked('ffffffffffffffff\r\nabc'),
  () => chunked(`5;${'x'.repeat(20_000)}\r\nabcde\r\n0\r\n\r\n`),
  () => chunked(`0\r\nX-Trailer: ${'x'.repeat(20_000)}\r\n\r\n`),
];

const bytesOf = (
  method: string,
  target: string,
  headers: readonly Header[],
  body: Buffer = Buffer.alloc(0),
) => {
  const host: Header[] = headers.some(([name]) => name === 'Host') ? [] : [['Host', 'x']];
  const lines = [...host, ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    body,
  ]);
};

/** Every operation is equally likely. */
export const requestsTo = ({ paths }: ApiDocument, token: string): Arbitrary<Attack> =>
  fc.oneof(
    ...Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) =>
        requestTo(path, method.toUpperCase(), operation, token),
      ),
    ),
  );

function requestTo(path: string, method: string, operation: Operation, token: string): Arbitrary<Attack> {
  const { parameters = [], requestBody } = operation;
  const names = parameters.filter((it) => it.in === 'query').map(({ name }) => name);
  const schema = requestBody?.content['application/json']?.schema;
  const query = fc.array(
    fc.tuple(
      fc.constantFrom(...names, ...names, ...UNKNOWN_NAMES),
      fc.oneof(fc.constantFrom(...QUERY_VALUES), inUrl),
    ),
    { maxLength: 3 },
  );
  const bearer: Header = ['Authorization', `Bearer ${token}`];
  const usual: Header[] = [
    ...(path.startsWith('/session') ? ([['X-Deskbell-Dashboard', '1']] as const) : []),
    ...(schema ? ([['Content-Type', 'application/json']] as const) : []),
  ];
  const oddHeaders = fc.array(fc.tuple(fc.constantFrom(...HEADER_NAMES), fc.constantFrom(...HEADER_VALUES)), {
    maxLength: 3,
  });
  return fc
    .tuple(
      fc.constantFrom(...Array<string>(150).fill(method), ...OTHER_METHODS),
      fc.oneof(fc.integer({ min: 1, max: 12 }).map(String), fc.constantFrom(...ODD_IDS), inUrl),
      query,
      fc.constantFrom([bearer], [bearer], [bearer], [bearer], [], [bearer, bearer]),
      oddHeaders,
      schema ? bodyFor(schema) : fc.constant(Buffer.alloc(0)),
      fc.constantFrom(...Array<typeof plain>(100).fill(plain), ...ODD_FRAMINGS),
    )
    .map(([verb, id, pairs, authorization, odd, body, frame]) => {
      const { headers, bytes, half } = frame(body);
      const search = pairs.map(([name, value], n) => `${n === 0 ? '?' : '&'}${name}=${value}`).join('');
      const target = path.replace(/\{\w+\}/, () => id) + search;
      const all = [...authorization, ...usual, ...odd, ...headers];
      return { bytes: bytesOf(verb, target, all, bytes), method: verb, half };
    });
}

const LIST = '/api/v1/notification/';
const SHAPES = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'HTTP/1.1 200 OK\r\n\r\n',
  ...['GET / HTTP/0.9', 'GET /', 'GET / HTTP/9.9', 'GET / HTTP/1.1', 'CONNECT example.org:443 HTTP/1.1'].map(
    (line) => `${line}\r\n\r\n`,
  ),
  ...words('//healthz /../../etc/passwd \\healthz http://127.0.0.1:1/healthz http://[::1/healthz').map(
    (target) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`,
  ),
  ...['Host: y', ' folded: 1', 'Connection: Upgrade\r\nUpgrade: websocket', `X: ${'é'.repeat(100)}`].map(
    (header) => `GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`,
  ),
  ...['\r\n'.repeat(5000), 'A'.repeat(200_000), `GET /${'a'.repeat(200_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
];
/** Two requests for a server that reads the length in another way than its proxy. */
const SMUGGLED = [
  'Content-Length: 4\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: xchunked\r\nContent-Length: 4',
  'Transfer-Encoding : chunked',
  'X: 1\nTransfer-Encoding: chunked',
  'Content-Length: 4\r\nContent-Length: 40',
].map(
  (headers) =>
    `POST ${LIST}request HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n` +
    `0\r\n\r\nDELETE ${LIST}1 HTTP/1.1\r\nHost: x\r\n\r\n`,
);

/** Bytes that are not one valid request: half of one, one with a wrong byte, another protocol, or garbage. */
export function malformedTraffic(token: string): Arbitrary<Attack> {
  const valid = bytesOf('GET', LIST, [['Authorization', `Bearer ${token}`]]);
  const mangled = fc.tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 })).map(([at, byte]) => {
    const bytes = Buffer.from(valid);
    bytes[at] = byte;
    return bytes;
  });
  return fc
    .oneof(
      mangled,
      fc.nat({ max: valid.length - 1 }).map((length) => valid.subarray(0, length)),
      fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(...SHAPES, ...SMUGGLED).map((text) => Buffer.from(text, 'latin1')),
    )
    .map((bytes) => ({ bytes, half: true }));
}
