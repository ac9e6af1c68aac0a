import { gzipSync } from 'node:zlib';
import fc, { type Arbitrary } from 'fast-check';
import { BODY_MAX_BYTES } from '../../../../src/http/json.ts';

/** Bodies that mostly match a schema, and everything that can be wrong with one. */

export interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
}

export interface Body {
  bytes: Buffer;
  headers: readonly (readonly [name: string, value: string])[];
}

const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ufeff',
  '\u202e\u2066',
  '\ufffe\uffff',
  '😀'.repeat(50),
  'é'.normalize('NFD'),
  `' or '1'='1`,
  `'; drop table users; --`,
  ...'%s%n{{7*7}} ../../../../etc/passwd <script>alert(1)</script> +34600000000 null'.split(' '),
  '*:* AND "near/2" (x OR',
  'a'.repeat(5000),
  '\r\nSet-Cookie: x=1',
];
/** As JSON text, because JSON.stringify would change some of them. */
const ODD_LITERALS = [
  ...'1e400 -1e400 -0 9007199254740993 99999999999999999999999999999999 1.7976931348623157e308'.split(' '),
  ...'5e-324 0.1'.split(' '),
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  ...'{"__proto__":{"admin":true}} {"constructor":{"prototype":{"x":1}}}'.split(' '),
  ...'{"toString":1,"valueOf":2,"toJSON":3,"then":4,"length":-1} {"a":1,"a":2,"a":{}} [] {} null'.split(' '),
  'true',
];

export const oddText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);

const deep = fc
  .tuple(
    fc.constantFrom(['[', ']'], ['{"a":', '}'], ['[{"":', '}]']),
    fc.constantFrom(10, 61, 62, 63, 64, 65, 5000, 50_000),
  )
  .map(([[open, close], depth]) => `${open!.repeat(depth)}1${close!.repeat(depth)}`);
const wide = fc.constantFrom(1000, 20_000).map((count) => `[${'0,'.repeat(count)}0]`);
const manyKeys = fc
  .constantFrom(100, 5000)
  .map((count) => `{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join(',')}}`);

const invalidValue: Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_LITERALS) },
  { weight: 4, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  { weight: 3, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.oneof(deep, wide, manyKeys) },
);

function validValue(schema: Schema): Arbitrary<string> {
  if (schema.enum) return fc.constantFrom(...schema.enum).map((value) => JSON.stringify(value));
  switch (schema.type) {
    case 'string':
      return fc
        .oneof(oddText, fc.string({ minLength: 1, maxLength: 60 }))
        .map((text) => JSON.stringify(text));
    case 'integer':
      return fc.oneof(fc.integer({ min: 1, max: 12 }), fc.maxSafeInteger()).map(String);
    case 'boolean':
      return fc.boolean().map(String);
    case 'object':
      return objectText(schema);
    default:
      return invalidValue;
  }
}

/** Members are missing, wrong, duplicate or unknown, in any order. */
function objectText({ properties = {} }: Schema): Arbitrary<string> {
  const members = Object.entries(properties).map(([name, schema]) =>
    fc
      .tuple(
        fc.oneof(
          { weight: 9, arbitrary: fc.constant(name) },
          { weight: 1, arbitrary: fc.constantFrom(name.toUpperCase(), '__proto__') },
        ),
        fc.oneof({ weight: 4, arbitrary: validValue(schema) }, { weight: 1, arbitrary: invalidValue }),
        fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 0),
      )
      .map(([key, value, times]) => Array.from({ length: times }, () => `${JSON.stringify(key)}:${value}`)),
  );
  const unknown = fc.array(
    fc.tuple(fc.oneof(oddText, fc.constantFrom('__proto__', 'constructor', 'toJSON')), invalidValue),
    { maxLength: 2 },
  );
  return fc.tuple(fc.tuple(...members), unknown, fc.boolean()).map(([known, others, reversed]) => {
    const all = [...known.flat(), ...others.map(([key, value]) => `${JSON.stringify(key)}:${value}`)];
    return `{${(reversed ? all.reverse() : all).join(',')}}`;
  });
}

const JSON_HEADER = ['Content-Type', 'application/json'] as const;
const plain = (text: string): Body => ({ bytes: Buffer.from(text), headers: [JSON_HEADER] });
const as = (type: string, bytes: Buffer): Body => ({ bytes, headers: [['Content-Type', type]] });

/** Half a text, an extra comma, a comment, and so on. */
const broken = (text: Arbitrary<string>): Arbitrary<string> =>
  fc.oneof(
    fc
      .tuple(text, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([it, share]) => it.slice(0, it.length * share)),
    text.map((it) => `${it},`),
    text.map((it) => `${it}${it}`),
    text.map((it) => `/* */${it}`),
    text.map((it) => it.replaceAll('"', "'")),
    text.map((it) => it.replace(/:[^,}]*/, ':NaN')),
    text.map((it) => it.replace(/"$/, '\t\n"')),
  );

const sized = fc
  .constantFrom(BODY_MAX_BYTES - 1, BODY_MAX_BYTES, BODY_MAX_BYTES + 1, BODY_MAX_BYTES * 3)
  .chain((bytes) =>
    fc.constantFrom(
      `{"context":{"question":"${'x'.repeat(bytes - 28)}"}}`,
      `{"email":"${'\\n'.repeat((bytes - 12) / 2)}"}`,
      ' '.repeat(bytes),
      '9'.repeat(bytes),
      '['.repeat(bytes),
      `"${'\\'.repeat(bytes - 2)}"`,
    ),
  );

const CONTENT_TYPES = [
  'application/json; charset=utf-16',
  'application/json;charset="',
  'application/json; charset=utf-8; charset=latin1',
  'APPLICATION/JSON',
  'application/vnd.x+json',
  'application/json\t;a',
  'text/plain',
  'text/json',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json, text/html',
  '',
  '*/*',
  ';;;',
  `application/${'j'.repeat(2000)}`,
  '__proto__',
];

const encoded = (text: Arbitrary<string>): Arbitrary<Body> =>
  fc.oneof(
    text.map((it) => plain(`\ufeff${it}`)),
    text.map((it) => as('application/json', Buffer.from(it, 'utf16le'))),
    text.map((it) => as('application/json; charset=utf-16', Buffer.from(`\ufeff${it}`, 'utf16le'))),
    text.map((it) => as('application/json', Buffer.from(it, 'latin1'))),
    fc.uint8Array({ maxLength: 200 }).map((it) => as('application/json', Buffer.from(it))),
    fc
      .tuple(text, fc.constantFrom(0xff, 0xc0, 0xed, 0xf8, 0x80, 0x00))
      .map(([it, byte]) =>
        as('application/json', Buffer.from(it.replace(/"/, `"${String.fromCharCode(byte)}`), 'latin1')),
      ),
    fc
      .tuple(text, fc.constantFrom('gzip', 'deflate', 'br', 'x-gzip', 'identity', 'gzip, gzip', 'nonsense'))
      .map(([it, encoding]) => ({
        bytes: gzipSync(it),
        headers: [JSON_HEADER, ['Content-Encoding', encoding] as const],
      })),
    // A hundred kilobytes that decompress to a hundred megabytes.
    fc.constant({ bytes: GZIP_BOMB, headers: [JSON_HEADER, ['Content-Encoding', 'gzip'] as const] }),
    fc.tuple(text, fc.constantFrom(...CONTENT_TYPES)).map(([it, type]) => as(type, Buffer.from(it))),
    text.map((it) => ({ bytes: Buffer.from(it), headers: [JSON_HEADER, JSON_HEADER] })),
    text.map((it) => ({ bytes: Buffer.from(it), headers: [] })),
  );

const GZIP_BOMB = gzipSync(Buffer.alloc(100 * 1024 * 1024, ' '), { level: 9 });

export const EMPTY: Body = { bytes: Buffer.alloc(0), headers: [] };

export function bodyFor(schema: Schema | undefined): Arbitrary<Body> {
  const text = objectText(schema ?? {});
  return fc.oneof(
    { weight: schema ? 8 : 2, arbitrary: text.map(plain) },
    { weight: schema ? 1 : 8, arbitrary: fc.constant(EMPTY) },
    { weight: 2, arbitrary: invalidValue.map(plain) },
    { weight: 2, arbitrary: broken(text).map(plain) },
    { weight: 3, arbitrary: encoded(text) },
    { weight: 1, arbitrary: sized.map(plain) },
  );
}
