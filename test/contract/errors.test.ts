import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { afterEach, it, mock } from 'node:test';
import { DatabaseUnavailable } from '../../src/database/database.ts';
import { openConnection } from '../support/process.ts';
import { AURORA, assertError, type CallOptions, me, onEachEngine, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

const LOGIN = '/api/v1/auth/login';
const LIST = '/api/v1/notification/';
const REQUEST = '/api/v1/notification/request';
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const wrong = { body: { ...AURORA, password: 'no' } };
const answer = { body: { answer: 'A.' } };
const large = { body: `"${'x'.repeat(256 * 1024)}"` };
const form = {
  body: 'email=owner@aurora.example&password=aurora-demo',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
};
const unknownConversation = {
  body: { notification_type: 'user_question_request', conversation_id: 999, context: { question: 'Q?' } },
};

type Case = [
  title: string,
  request: [method: string, path: string, options?: CallOptions],
  status: number,
  code: string,
  field?: string,
];
const SIGNED_OUT: Case[] = [
  ['a wrong password', ['POST', LOGIN, wrong], 401, 'INVALID_CREDENTIALS'],
  ['no token', ['GET', LIST], 401, 'INVALID_TOKEN'],
  ['a broken body and no token', ['POST', REQUEST, { body: '{"broken' }], 401, 'INVALID_TOKEN'],
  ['a body too large and no token', ['POST', REQUEST, large], 401, 'INVALID_TOKEN'],
  ['a form and no token', ['POST', REQUEST, form], 401, 'INVALID_TOKEN'],
  ['a sign-in without a required field', ['POST', LOGIN, { body: {} }], 422, 'VALIDATION_ERROR', 'email'],
  ['an unknown path', ['POST', '/api/v1/auth/register', { body: {} }], 404, 'NOT_FOUND'],
  ['a path that cannot be decoded', ['GET', '/api/v1/auth/%zz'], 404, 'NOT_FOUND'],
  ['a body too large', ['POST', LOGIN, large], 413, 'PAYLOAD_TOO_LARGE'],
  ['a form', ['POST', LOGIN, form], 415, 'UNSUPPORTED_MEDIA_TYPE'],
];
const SIGNED_IN: Case[] = [
  ['an invalid filter', ['GET', `${LIST}?status=lost`], 422, 'VALIDATION_ERROR', 'status'],
  [
    'a request without a required field',
    ['POST', REQUEST, { body: {} }],
    500,
    'VALIDATION_ERROR',
    'notification_type',
  ],
  [
    'no such conversation',
    ['POST', REQUEST, unknownConversation],
    500,
    'CONVERSATION_NOT_FOUND',
    'conversation_id',
  ],
  ['no such notification', ['DELETE', `${LIST}999`], 404, 'NOTIFICATION_NOT_FOUND'],
  ['a second answer', ['POST', `${LIST}1/answer`, answer], 500, 'ALREADY_ANSWERED'],
];

onEachEngine('errors', (engine) => {
  const deskbell = useDeskbell(engine, { LOG_LEVEL: 'debug' });
  afterEach(() => mock.restoreAll());

  const check = ([title, [method, path, options], status, code, field]: Case, signedIn: boolean) => {
    it(`${title} is ${status} ${code}, in the common error format`, async () => {
      const token = signedIn ? await deskbell.signIn() : undefined;
      const reply = await deskbell.call(method, path, { ...options, token });
      assertError(reply, status, code, field);
      assert.match(reply.headers.get('x-request-id')!, UUID);
    });
  };
  for (const each of SIGNED_OUT) check(each, false);
  for (const each of SIGNED_IN) check(each, true);

  const methods: [method: string, path: string, allow: string][] = [
    ['GET', LOGIN, 'POST'],
    ['PUT', LOGIN, 'POST'],
    ['GET', '/api/v1/auth/refresh', 'POST'],
    ['DELETE', '/api/v1/auth/logout', 'POST'],
    ['POST', '/api/v1/auth/me', 'GET, HEAD'],
    ['POST', '/.well-known/jwks.json', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of methods) {
    it(`${method} ${path} is 405 METHOD_NOT_ALLOWED and names what is allowed`, async () => {
      const reply = await deskbell.call(method, path);
      assertError(reply, 405, 'METHOD_NOT_ALLOWED');
      assert.equal(reply.headers.get('allow'), allow);
    });
  }

  it('headers that are too large are 431 with the same body', async () => {
    assertError(await me(deskbell, 'a'.repeat(20_000)), 431, 'HEADERS_TOO_LARGE');
  });

  it('a request keeps the x-request-id it came with, in the response and in the log', async () => {
    const id = `client-${engine}:1.2_3`;
    for (const path of ['/api/v1/auth/me', '/nothing/here', '/healthz']) {
      const reply = await deskbell.call('GET', path, { headers: { 'x-request-id': id } });
      assert.equal(reply.headers.get('x-request-id'), id);
    }
    assert.equal(linesOf(id).length, 3);
  });

  for (const id of ['', 'with space', 'x'.repeat(129), '{"json":1}', 'é']) {
    it(`an x-request-id of ${JSON.stringify(id).slice(0, 16)} is replaced by a new one`, async () => {
      const reply = await deskbell.call('GET', '/healthz', { headers: { 'x-request-id': id } });
      assert.match(reply.headers.get('x-request-id')!, UUID);
    });
  }

  it('without the database, sign-in is 503 with Retry-After', async () => {
    breakDatabase(new DatabaseUnavailable('away'));
    const reply = await deskbell.call('POST', LOGIN, { body: AURORA });
    assertError(reply, 503, 'SERVICE_UNAVAILABLE');
    assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
  });

  it('without the database, a notification endpoint fails with 500 and Retry-After', async () => {
    const token = await deskbell.signIn();
    breakDatabase(new DatabaseUnavailable('away'));
    const reply = await deskbell.call('POST', `${LIST}4/answer`, { token, ...answer });
    assertError(reply, 500, 'SERVICE_UNAVAILABLE');
    assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
  });

  it('an unexpected error is one fixed sentence: no stack, no SQL, no library text', async () => {
    breakDatabase(new Error('syntax error at "select secret from users"'));
    const reply = await deskbell.call('POST', LOGIN, { body: AURORA });
    assertError(reply, 500, 'INTERNAL_ERROR');
    assert.equal(
      reply.json.detail,
      'Something went wrong on our side. The x-request-id header names this request.',
    );
    const [failure] = linesOf(reply.headers.get('x-request-id')!).filter(({ level }) => level === 'error');
    assert.equal(failure.code, 'INTERNAL_ERROR');
    assert.match(failure.err.stack, /errors\.test/);
  });

  it('a 500 that the contract requires is logged at info and counted separately from real failures', async () => {
    const token = await deskbell.signIn();
    const before = await answersWith500();
    const expected = await deskbell.call('POST', `${LIST}1/answer`, { token, ...answer });
    breakDatabase(new Error('unforeseen'));
    const failed = await deskbell.call('POST', `${LIST}1/answer`, { token, ...answer });
    mock.restoreAll();
    assert.deepEqual([expected.status, failed.status], [500, 500]);
    const levels = (id: string | null) => linesOf(id!).map(({ level }) => level);
    assert.deepEqual(levels(expected.headers.get('x-request-id')), ['info']);
    assert.ok(levels(failed.headers.get('x-request-id')).includes('error'));
    const after = await answersWith500();
    assert.deepEqual([after.refused - before.refused, after.failed - before.failed], [1, 1]);
  });

  for (const path of [LOGIN, '/webhooks/whatsapp']) {
    for (const [how, cut] of [
      ['closes', (socket: Socket) => socket.end()],
      ['resets', (socket: Socket) => socket.resetAndDestroy()],
    ] as const) {
      it(`a client that ${how} its connection in the middle of a body to ${path} is no failure`, async () => {
        const id = `cut-${path}-${how}`.replaceAll('/', '.');
        const head = [
          `POST ${path} HTTP/1.1`,
          'Host: localhost',
          'Content-Type: application/json',
          `X-Request-Id: ${id}`,
          `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
          'Content-Length: 100000',
        ];
        const { socket, closed } = await openConnection(
          Number(new URL(deskbell.url).port),
          `${head.join('\r\n')}\r\n\r\n{"email":`,
        );
        // The server has read the first part of the body before it answers this.
        const before = await failures();
        cut(socket);
        await until('the server has noticed it', () => linesOf(id).length > 0);
        // It has half-closed, so it could still read. Nobody does, and a response for each of hundreds makes others wait.
        if (how === 'closes') assert.equal(await closed, '');
        socket.destroy();
        for (const { level, code } of linesOf(id)) {
          assert.ok(level === 'debug' || level === 'info', level);
          assert.equal(code, 'BAD_REQUEST');
        }
        assert.deepEqual(await failures(), before);
      });
    }
  }

  function breakDatabase(error: Error): void {
    for (const name of ['all', 'one', 'run', 'chain', 'transaction'] as const) {
      mock.method(deskbell.database, name, () => Promise.reject(error));
    }
  }

  const linesOf = (requestId: string) =>
    deskbell.logged.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === requestId);

  const failures = async () =>
    (await deskbell.call('GET', '/metrics')).text.split('\n').filter((line) => line.includes('"failed"'));

  /** How often `answer` returned 500, by outcome. */
  async function answersWith500(): Promise<{ refused: number; failed: number }> {
    const lines = (await deskbell.call('GET', '/metrics')).text.split('\n');
    const count = (outcome: string) => {
      const parts = ['/answer"', 'status="500"', `outcome="${outcome}"`];
      const line = lines.find((text) => parts.every((part) => text.includes(part)));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    return { refused: count('refused'), failed: count('failed') };
  }
});
