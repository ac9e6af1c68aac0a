import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { NOTIFICATIONS, outcome, QUESTION, raise, rawCall, useDeskbell } from '../support/server.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const LOGIN = '/api/v1/auth/login';
const BODY_MAX_BYTES = 256 * 1024;
const JSON_TYPE = 'application/json';
const BODY = JSON.stringify(QUESTION);
const BOM = '\ufeff';

const RAISED = { status: 200, message: 'Notification requested.' };
const TOO_LARGE = { status: 413, detail: 'The body must not exceed 256 KiB.', code: 'PAYLOAD_TOO_LARGE' };
const NO_JSON_TYPE = {
  status: 415,
  detail: 'Send the body as JSON, with Content-Type: application/json.',
  code: 'UNSUPPORTED_MEDIA_TYPE',
};
const ENCODED = {
  status: 415,
  detail: 'Send the body without Content-Encoding.',
  code: 'UNSUPPORTED_MEDIA_TYPE',
};
const refused = (detail: string, field = 'body') => ({ detail, code: 'VALIDATION_ERROR', field });

/** A request of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const more = 'x'.repeat(bytes - JSON.stringify({ ...QUESTION, more: '' }).length);
  return JSON.stringify({ ...QUESTION, more });
}

/** A request with this nesting depth: its body is the first level, its context the second. */
function nested(levels: number, open: string, close: string): string {
  const inner = open.repeat(levels - 2) + (open === '[' ? '' : '1') + close.repeat(levels - 2);
  return BODY.replace('"context":{', `"context":{"deep":${inner},`);
}

const NO_JSON = ['{', '{"a":1,}', "{'a':1}", '{"a":1}{}', 'NaN', '{"a":01}', '{"a":"\t"}', BOM + BOM + BODY];
const UNREADABLE: [body: string | Buffer, detail: string][] = [
  ...[...NO_JSON, BODY.slice(0, -1), `{"a":"${'\\"'.repeat(1000)}`].map((text): [string, string] => [
    text,
    'body is not valid JSON',
  ]),
  ['['.repeat(65), 'body is nested deeper than 64 levels'],
  ['[{"a":'.repeat(20_000), 'body is nested deeper than 64 levels'],
  // A wrong byte, half a character, a surrogate, UTF-16 and Latin-1.
  ...[
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    Buffer.from('"é"').subarray(0, 2),
    Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    Buffer.from(BOM + BODY, 'utf16le'),
    Buffer.from('{"a":"é"}', 'latin1'),
  ].map((bytes): [Buffer, string] => [bytes, 'body is not valid UTF-8']),
];

describe('a JSON body', () => {
  const deskbell = useDeskbell('sqlite');
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });

  /** `type` undefined: without a Content-Type. */
  const send = async (
    path: string,
    type: string | undefined,
    chunks: (string | Buffer)[],
    more: Record<string, string> = {},
    method = 'POST',
  ) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(type === undefined ? {} : { 'content-type': type }),
      ...more,
    };
    return outcome(await rawCall(deskbell, method, path, { headers, chunks }));
  };

  it('may have at most 256 KiB, with or without Content-Length', async () => {
    for (const [bytes, expected] of [
      [BODY_MAX_BYTES, RAISED],
      [BODY_MAX_BYTES + 1, TOO_LARGE],
    ] as const) {
      const body = bodyOf(bytes);
      assert.equal(Buffer.byteLength(body), bytes);
      const announced = { 'content-length': String(bytes) };
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body], announced), expected);
      const middle = bytes / 2;
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body.slice(0, middle), body.slice(middle)]), expected);
    }
    for (const path of [`${NOTIFICATIONS}/9/answer`, LOGIN])
      assert.deepEqual(await send(path, JSON_TYPE, [bodyOf(300_000)]), TOO_LARGE);
  });

  it('may be at most 64 levels deep; brackets in a text do not count', async () => {
    const tooDeep = { status: 500, ...refused('body is nested deeper than 64 levels') };
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [nested(64, open, close)]), RAISED);
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [nested(65, open, close)]), tooDeep);
    }
    const flat = JSON.stringify({ ...QUESTION, context: { question: '[{"\\"'.repeat(100) } });
    assert.deepEqual(await send(REQUEST, JSON_TYPE, [flat]), RAISED);
  });

  it('is refused if it is not valid JSON: with 500 by the notification endpoints, with 422 by sign-in', async () => {
    const answer = `${await raise(deskbell, token)}/answer`;
    for (const [path, status, bodies] of [
      [REQUEST, 500, UNREADABLE],
      [answer, 500, UNREADABLE.slice(0, 1)],
      [LOGIN, 422, UNREADABLE.slice(0, 1)],
    ] as const)
      for (const [body, detail] of bodies) {
        const expected = { status, ...refused(detail) };
        assert.deepEqual(await send(path, JSON_TYPE, [body]), expected, `${body.slice(0, 20)} at ${path}`);
      }
  });

  it('is refused with the name of the missing field if it is empty', async () => {
    const answer = `${await raise(deskbell, token)}/answer`;
    const content = 'Missing admin response content in context (expected field: answer)';
    const missing = (status: number, field: string, detail = `${field} is required`) => ({
      status,
      ...refused(detail, field),
    });
    for (const chunks of [[], [' \r\n\t'], [BOM], ['{}']]) {
      // No body at all also counts as empty.
      const type = chunks.length === 0 ? undefined : JSON_TYPE;
      assert.deepEqual(await send(REQUEST, type, chunks), missing(500, 'notification_type'));
      assert.deepEqual(await send(answer, type, chunks), missing(500, 'answer', content));
      assert.deepEqual(await send(LOGIN, type, chunks), missing(422, 'email'));
    }
    assert.deepEqual(await send(REQUEST, JSON_TYPE, []), missing(500, 'notification_type'));
  });

  it('may arrive in pieces, split anywhere, and start with a byte order mark', async () => {
    const context = { question: 'Где? ☕️👩‍👩‍👧‍👦' };
    const bytes = Buffer.from(BOM + JSON.stringify({ ...QUESTION, context }));
    const pieces = [...bytes].map((byte) => Buffer.from([byte]));
    assert.deepEqual(await send(REQUEST, JSON_TYPE, pieces), RAISED);
    const [newest] = (await deskbell.call('GET', `${NOTIFICATIONS}/?limit=1`, { token })).json;
    assert.deepEqual(newest.context, context);
  });

  it('is accepted with every JSON content type and any parameters', async () => {
    for (const type of [
      'application/json ; charset="utf-8"',
      'Application/JSON',
      'application/vnd.shop.v1+json; version=1',
    ])
      assert.deepEqual(await send(REQUEST, type, [BODY]), RAISED, type);
  });

  it('is refused with any other content type, or none, with 415', async () => {
    const form = 'application/x-www-form-urlencoded';
    for (const type of [
      undefined,
      '',
      'json',
      'text/json',
      'application/jsonp',
      'application/xml',
      form,
      '*/*',
    ])
      assert.deepEqual(await send(REQUEST, type, [BODY]), NO_JSON_TYPE, type);
    const answer = `${await raise(deskbell, token)}/answer`;
    assert.deepEqual(await send(answer, 'text/plain', ['{"answer":"Yes."}']), NO_JSON_TYPE);
    assert.deepEqual(await send(LOGIN, form, ['email=a&password=b']), NO_JSON_TYPE);
  });

  it('is refused with 415 if it is compressed', async () => {
    const zipped = gzipSync(BODY);
    assert.deepEqual(await send(REQUEST, JSON_TYPE, [zipped], { 'content-encoding': 'gzip' }), ENCODED);
    for (const name of ['br', 'unknown']) {
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [BODY], { 'content-encoding': name }), ENCODED, name);
    }
    assert.deepEqual(await send(REQUEST, JSON_TYPE, [BODY], { 'content-encoding': 'identity' }), RAISED);
  });

  it('is not required to list, show or delete, even with a Content-Type', async () => {
    const address = await raise(deskbell, token);
    for (const path of [NOTIFICATIONS, address]) {
      assert.equal((await send(path, JSON_TYPE, [], {}, 'GET')).status, 200);
    }
    assert.equal((await send(address, JSON_TYPE, [], {}, 'DELETE')).status, 200);
    const other = await raise(deskbell, token);
    assert.equal((await send(other, JSON_TYPE, [], { 'content-length': '0' }, 'DELETE')).status, 200);
    assert.equal((await send(await raise(deskbell, token), undefined, [], {}, 'DELETE')).status, 200);
  });
});
