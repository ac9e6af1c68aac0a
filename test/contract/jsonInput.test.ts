import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  NOTIFICATIONS,
  onEachEngine,
  outcome,
  QUESTION,
  raise,
  rawCall,
  useDeskbell,
} from '../support/server.ts';

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

const UNREADABLE: [title: string, body: string | Buffer, detail: string][] = [
  ...[
    '{',
    '{"a":1,}',
    "{'a':1}",
    '{"a":1}}',
    '{"a":1}{}',
    'undefined',
    'NaN',
    '{"a":01}',
    '{"a":"\t"}',
    BOM + BOM + BODY,
  ].map((text): [string, string, string] => [text.slice(0, 20), text, 'body is not valid JSON']),
  ['incomplete JSON', BODY.slice(0, -1), 'body is not valid JSON'],
  ['an unterminated string', `{"a":"${'\\"'.repeat(1000)}`, 'body is not valid JSON'],
  ['too many brackets', '['.repeat(65), 'body is nested deeper than 64 levels'],
  ['far too many brackets', '[{"a":'.repeat(20_000), 'body is nested deeper than 64 levels'],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'body is not valid UTF-8'],
  ['half a character', Buffer.from('"é').subarray(0, 2), 'body is not valid UTF-8'],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'body is not valid UTF-8'],
  ['UTF-16', Buffer.from(BOM + BODY, 'utf16le'), 'body is not valid UTF-8'],
  ['Latin-1', Buffer.from('{"a":"é"}', 'latin1'), 'body is not valid UTF-8'],
];

onEachEngine('a JSON body', (engine) => {
  const deskbell = useDeskbell(engine);
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
      [BODY_MAX_BYTES * 4, TOO_LARGE],
    ] as const) {
      const body = bodyOf(bytes);
      assert.equal(Buffer.byteLength(body), bytes);
      const announced = { 'content-length': String(bytes) };
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body], announced), expected);
      const middle = bytes / 2;
      assert.deepEqual(await send(REQUEST, JSON_TYPE, [body.slice(0, middle), body.slice(middle)]), expected);
    }
    assert.deepEqual(await send(`${NOTIFICATIONS}/9/answer`, JSON_TYPE, [bodyOf(300_000)]), TOO_LARGE);
    assert.deepEqual(await send(LOGIN, JSON_TYPE, [bodyOf(300_000)]), TOO_LARGE);
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
    for (const [title, body, detail] of UNREADABLE) {
      for (const [path, status] of [
        [REQUEST, 500],
        [answer, 500],
        [LOGIN, 422],
      ] as const) {
        const expected = { status, ...refused(detail) };
        assert.deepEqual(await send(path, JSON_TYPE, [body]), expected, `${title} at ${path}`);
      }
    }
  });

  it('is refused with the name of the missing field if it is empty', async () => {
    const answer = `${await raise(deskbell, token)}/answer`;
    const content = 'Missing admin response content in context (expected field: answer)';
    for (const chunks of [[], [''], [' \r\n\t'], [BOM], ['{}']]) {
      const missing = (field: string, detail = `${field} is required`) => refused(detail, field);
      assert.deepEqual(await send(REQUEST, JSON_TYPE, chunks), {
        status: 500,
        ...missing('notification_type'),
      });
      assert.deepEqual(await send(answer, JSON_TYPE, chunks), { status: 500, ...missing('answer', content) });
      assert.deepEqual(await send(LOGIN, JSON_TYPE, chunks), { status: 422, ...missing('email') });
    }
    // No body at all also counts as empty.
    assert.deepEqual(await send(REQUEST, undefined, []), {
      status: 500,
      ...refused('notification_type is required', 'notification_type'),
    });
    assert.deepEqual(await send(answer, undefined, []), { status: 500, ...refused(content, 'answer') });
  });

  it('may arrive in pieces, split anywhere, and start with a byte order mark', async () => {
    const context = { question: 'Где? ☕️👩‍👩‍👧‍👦' };
    const bytes = Buffer.from(BOM + JSON.stringify({ ...QUESTION, context }));
    assert.deepEqual(
      await send(
        REQUEST,
        JSON_TYPE,
        [...bytes].map((byte) => Buffer.from([byte])),
      ),
      RAISED,
    );
    const [newest] = (await deskbell.call('GET', `${NOTIFICATIONS}/?limit=1`, { token })).json;
    assert.deepEqual(newest.context, context);
  });

  it('is accepted with every JSON content type and any parameters', async () => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json ; charset="utf-8"',
      'Application/JSON',
      'application/problem+json',
      'application/vnd.shop.v1+json; version=1',
    ]) {
      assert.deepEqual(await send(REQUEST, type, [BODY]), RAISED, type);
    }
  });

  it('is refused with any other content type, or none, with 415', async () => {
    const answer = `${await raise(deskbell, token)}/answer`;
    for (const type of [
      undefined,
      '',
      'json',
      'text/plain',
      'text/json',
      'application/jsonp',
      'application/json-seq',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=b',
      '*/*',
    ]) {
      assert.deepEqual(await send(REQUEST, type, [BODY]), NO_JSON_TYPE, type);
      assert.deepEqual(await send(answer, type, ['{"answer":"Yes."}']), NO_JSON_TYPE, type);
    }
    const form = 'application/x-www-form-urlencoded';
    assert.deepEqual(await send(LOGIN, form, ['email=a&password=b']), NO_JSON_TYPE);
  });

  it('is refused with 415 if it is compressed', async () => {
    const zipped = gzipSync(BODY);
    assert.deepEqual(await send(REQUEST, JSON_TYPE, [zipped], { 'content-encoding': 'gzip' }), ENCODED);
    for (const name of ['gzip', 'br', 'deflate', 'unknown']) {
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
