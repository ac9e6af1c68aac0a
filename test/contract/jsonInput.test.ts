import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { useMerchant } from '../support/merchants.ts';
import { NOTIFICATIONS, outcome, rawCall } from '../support/server.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const LOGIN = '/api/v1/auth/login';
const BODY_MAX_BYTES = 256 * 1024;
const JSON_TYPE = 'application/json';
const BOM = '\ufeff';

const RAISED = { status: 200, message: 'Notification requested.' };
const TOO_LARGE = { status: 413, detail: 'The body must not exceed 256 KiB.', code: 'PAYLOAD_TOO_LARGE' };
const unsupported = (detail: string) => ({ status: 415, detail, code: 'UNSUPPORTED_MEDIA_TYPE' });
const NO_JSON_TYPE = unsupported('Send the body as JSON, with Content-Type: application/json.');
const ENCODED = unsupported('Send the body without Content-Encoding.');
const refused = (status: number, detail: string, field = 'body') => ({
  ...{ status, detail, code: 'VALIDATION_ERROR', field },
});
const NO_JSON = 'body is not valid JSON';
const TOO_DEEP = 'body is nested deeper than 64 levels';
const NO_UTF8 = 'body is not valid UTF-8';

const UNREADABLE: [body: string | Buffer, detail: string][] = [
  ...['{', '{"a":1,}', '{"a":1}{}', 'NaN', '{"a":"\t"}', `${BOM}${BOM}{}`].map((text): [string, string] => [
    text,
    NO_JSON,
  ]),
  [`{"a":"${'\\"'.repeat(1000)}`, NO_JSON],
  ['['.repeat(65), TOO_DEEP],
  ['[{"a":'.repeat(20_000), TOO_DEEP],
  // A wrong byte, half a character, a surrogate, and UTF-16.
  [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), NO_UTF8],
  [Buffer.from('"é"').subarray(0, 2), NO_UTF8],
  [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), NO_UTF8],
  [Buffer.from(`${BOM}{}`, 'utf16le'), NO_UTF8],
];

describe('a JSON body', () => {
  const shop = useMerchant('sqlite');
  const questionOf = (more: object = {}, context: object = { question: 'Any decaf?' }) => {
    const { conversationId: conversation_id } = shop;
    return JSON.stringify({ notification_type: 'user_question_request', conversation_id, context, ...more });
  };
  const answerPath = async () => `${NOTIFICATIONS}/${await shop.raise()}/answer`;

  /** `type` undefined: without a Content-Type. */
  const send = async (
    path: string,
    type: string | undefined,
    chunks: (string | Buffer)[],
    more: Record<string, string> = {},
    method = 'POST',
  ) => {
    const contentType: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    const headers = { authorization: `Bearer ${await shop.token()}`, ...contentType, ...more };
    return outcome(await rawCall(shop.deskbell, method, path, { headers, chunks }));
  };

  it('may have at most 256 KiB, with or without Content-Length', async () => {
    for (const [bytes, expected] of [
      [BODY_MAX_BYTES, RAISED],
      [BODY_MAX_BYTES + 1, TOO_LARGE],
    ] as const) {
      const body = questionOf({ more: 'x'.repeat(bytes - questionOf({ more: '' }).length) });
      assert.equal(Buffer.byteLength(body), bytes);
      const announced = { 'content-length': String(bytes) };
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body], announced), expected);
      const middle = bytes / 2;
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body.slice(0, middle), body.slice(middle)]), expected);
    }
    for (const path of [`${NOTIFICATIONS}/9/answer`, LOGIN])
      assert.deepEqual(await send(path, JSON_TYPE, ['x'.repeat(300_000)]), TOO_LARGE);
  });

  it('may be at most 64 levels deep; brackets in a text do not count', async () => {
    // The body is the first level.
    const nested = (levels: number, open: string, close: string) =>
      questionOf({ more: 'DEEP' }).replace(
        '"DEEP"',
        `${open.repeat(levels - 1)}1${close.repeat(levels - 1)}`,
      );
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [nested(64, open, close)]), RAISED);
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [nested(65, open, close)]), refused(500, TOO_DEEP));
    }
    const flat = questionOf({}, { question: '[{"\\"'.repeat(100) });
    assert.deepEqual(await send(REQUEST, JSON_TYPE, [flat]), RAISED);
  });

  it('is refused if it is not valid JSON: with 500 by the notification endpoints, with 422 by sign-in', async () => {
    for (const [path, status, bodies] of [
      [REQUEST, 500, UNREADABLE],
      [await answerPath(), 500, UNREADABLE.slice(0, 1)],
      [LOGIN, 422, UNREADABLE.slice(0, 1)],
    ] as const)
      for (const [body, detail] of bodies) {
        const expected = refused(status, detail);
        assert.deepEqual(await send(path, JSON_TYPE, [body]), expected, `${body.slice(0, 20)} at ${path}`);
      }
  });

  it('is refused with the name of the missing field if it is empty', async () => {
    const answer = await answerPath();
    const content = 'Missing admin response content in context (expected field: answer)';
    for (const chunks of [[], [' \r\n\t'], [BOM], ['{}']]) {
      // No body at all also counts as empty.
      const type = chunks.length === 0 ? undefined : JSON_TYPE;
      for (const [path, expected] of [
        [REQUEST, refused(500, 'notification_type is required', 'notification_type')],
        [answer, refused(500, content, 'answer')],
        [LOGIN, refused(422, 'email is required', 'email')],
      ] as const)
        assert.deepEqual(await send(path, type, chunks), expected);
    }
  });

  it('may arrive in pieces, split anywhere, and start with a byte order mark', async () => {
    const context = { question: 'Где? ☕️👩‍👩‍👧‍👦' };
    const pieces = [...Buffer.from(BOM + questionOf({}, context))].map((byte) => Buffer.from([byte]));
    assert.deepEqual(await send(REQUEST, JSON_TYPE, pieces), RAISED);
    assert.deepEqual((await shop.get('/notification/?limit=1')).json[0].context, context);
  });

  it('is accepted with JSON content types only, and not compressed', async () => {
    const body = questionOf();
    for (const type of ['Application/JSON ; charset="utf-8"', 'application/vnd.shop.v1+json; version=1'])
      assert.deepEqual(await send(REQUEST, type, [body]), RAISED, type);
    for (const type of [undefined, '', 'text/json', 'application/jsonp', '*/*'])
      assert.deepEqual(await send(REQUEST, type, [body]), NO_JSON_TYPE, type);
    assert.deepEqual(await send(await answerPath(), 'text/plain', ['{"answer":"Yes."}']), NO_JSON_TYPE);

    const encodings: [encoding: string, body: string | Buffer, expected: object][] = [
      ['gzip', gzipSync(body), ENCODED],
      ['unknown', body, ENCODED],
      ['identity', body, RAISED],
    ];
    for (const [encoding, sent, expected] of encodings)
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [sent], { 'content-encoding': encoding }), expected);
  });

  it('is not required to delete, even with a Content-Type', async () => {
    for (const headers of [{}, { 'content-length': '0' }] as Record<string, string>[]) {
      const address = `${NOTIFICATIONS}/${await shop.raise()}`;
      assert.equal((await send(address, JSON_TYPE, [], headers, 'DELETE')).status, 200);
    }
  });
});
