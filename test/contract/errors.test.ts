import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { type Database, DatabaseUnavailable } from '../../src/database/database.ts';
import { openConnection } from '../support/process.ts';
import { AURORA, assertError, outcome, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

const LOGIN = '/api/v1/auth/login';
const LIST = '/api/v1/notification/';
const REQUEST = '/api/v1/notification/request';

const answer = { body: { answer: 'A.' } };
const ABSENT = ['/api/v1', '/api/v2/auth/login', '/API/V1/notification/', `${LIST}9/other`, '/%ZZ'];
const ALLOWED: [path: string, methods: string[]][] = [
  [LOGIN, ['POST']],
  ['/api/v1/auth/me', ['GET', 'HEAD']],
  [LIST, ['GET', 'HEAD']],
  [LIST.slice(0, -1), ['GET', 'HEAD']],
  [REQUEST, ['POST']],
  [`${LIST}9`, ['DELETE', 'GET', 'HEAD']],
  [`${LIST}9/answer`, ['POST']],
];

describe('errors', () => {
  const deskbell = useDeskbell('sqlite', { LOG_LEVEL: 'debug' });

  it('a path that does not exist is 404, also in another version of the API, with and without a token', async () => {
    const absent = { status: 404, detail: 'This path does not exist.', code: 'NOT_FOUND' };
    for (const token of [await deskbell.signIn(), undefined])
      for (const path of ABSENT)
        assert.deepEqual(outcome(await deskbell.call('GET', path, { token })), absent);
  });

  it('a method that a path does not have is 405, and names those that it has', async () => {
    for (const [path, methods] of ALLOWED) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'].filter((one) => !methods.includes(one))) {
        const reply = await deskbell.call(method, path);
        assertError(reply, 405, 'METHOD_NOT_ALLOWED');
        assert.equal(reply.json.detail, `This path accepts ${methods.join(', ')}.`);
        assert.equal(reply.headers.get('allow'), methods.join(', '));
      }
    }
  });

  it('without the database, sign-in is 503 and a notification endpoint 500, both with Retry-After', async () => {
    const token = await deskbell.signIn();
    await withBrokenDatabase(new DatabaseUnavailable('away'), async () => {
      for (const [path, options, status] of [
        [LOGIN, { body: AURORA }, 503],
        [`${LIST}4/answer`, { token, ...answer }, 500],
      ] as const) {
        const reply = await deskbell.call('POST', path, options);
        assertError(reply, status, 'SERVICE_UNAVAILABLE');
        assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
      }
    });
  });

  it('an unexpected error is one fixed sentence: no stack, no SQL, no library text', async () => {
    const error = new Error('syntax error at "select secret from users"');
    const reply = await withBrokenDatabase(error, () => deskbell.call('POST', LOGIN, { body: AURORA }));
    assertError(reply, 500, 'INTERNAL_ERROR');
    assert.equal(
      reply.json.detail,
      'Something went wrong on our side. The x-request-id header names this request.',
    );
    const [failure] = linesOf(reply.headers.get('x-request-id')!).filter(({ level }) => level === 'error');
    assert.equal(failure.code, 'INTERNAL_ERROR');
    assert.match(failure.err.stack, /errors\.test/);
  });

  for (const [how, cut] of [
    ['closes', (socket: Socket) => socket.end()],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
  ] as const)
    it(`a client that ${how} its connection in the middle of a body is no failure`, async () => {
      const id = `cut-${how}`;
      const head = [
        `POST ${LOGIN} HTTP/1.1`,
        'Host: localhost',
        'Content-Type: application/json',
        `X-Request-Id: ${id}`,
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

  async function withBrokenDatabase<T>(error: Error, act: () => Promise<T>): Promise<T> {
    const { database } = deskbell;
    const original = { ...database };
    const broken = () => Promise.reject(error);
    const methods: Partial<Database> = { all: broken, one: broken, run: broken, write: broken };
    Object.assign(database, methods, { transaction: broken });
    try {
      return await act();
    } finally {
      Object.assign(database, original);
    }
  }

  const linesOf = (requestId: string) =>
    deskbell.logged.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === requestId);

  const failures = async () =>
    (await deskbell.call('GET', '/metrics')).text.split('\n').filter((line) => line.includes('"failed"'));
});
