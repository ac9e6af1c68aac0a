import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../support/process.ts';
import { AURORA, NOTIFICATIONS, onEachEngine, QUESTION, raise, useDeskbell } from '../support/server.ts';

/** Requests that fetch cannot send: byte by byte, late, broken, or all at once. */

const BODY = JSON.stringify(AURORA);
const LOGIN_HEAD = [
  'POST /api/v1/auth/login HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
].join('\r\n');

function assertBrokenReply(received: string, status: number, code: string): void {
  const [head = '', body = ''] = received.split('\r\n\r\n');
  assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), received);
  assert.match(head, /\r\nContent-Type: application\/json; charset=utf-8/i);
  assert.match(head, /\r\nConnection: close/i);
  const { detail, ...rest } = JSON.parse(body);
  assert.match(detail, /\w/);
  assert.deepEqual(rest, { code });
}

describe('a slow client', { concurrency: true }, () => {
  const deskbell = useDeskbell('sqlite');
  const port = () => Number(new URL(deskbell.url).port);

  /** Sends the start and then one byte per second: slow, but not silent. */
  async function cutOff(bytes: string, piece: string): Promise<number> {
    const start = performance.now();
    const connection = await openConnection(port(), bytes);
    const timer = setInterval(() => connection.socket.write(piece), 1000);
    try {
      assertBrokenReply(await connection.closed, 408, 'REQUEST_TIMEOUT');
    } finally {
      clearInterval(timer);
      connection.socket.destroy();
    }
    return (performance.now() - start) / 1000;
  }

  it('is disconnected with 408 after ten seconds if it sends half a header', async () => {
    const seconds = await cutOff('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'z');
    assert.ok(seconds >= 9 && seconds < 20, `${seconds} s`);
  });
  it('is disconnected with 408 after ten seconds if it sends nothing, or only line breaks', async () => {
    for (const seconds of await Promise.all([cutOff('', ''), cutOff('\r\n', '\r\n')])) {
      assert.ok(seconds >= 9 && seconds < 20, `${seconds} s`);
    }
  });
  it('is disconnected with 408 after twelve seconds if it sends half a body', async () => {
    const seconds = await cutOff(`${LOGIN_HEAD}\r\n\r\n{`, ' ');
    assert.ok(seconds >= 11 && seconds < 22, `${seconds} s`);
  });
  it('is disconnected even if it does not close the connection', async () => {
    const connection = await openConnection(port(), 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
    await connection.closed;
    // The other side has closed the connection, so it answers with a reset.
    const gone = new Promise((resolve) => connection.socket.once('close', resolve));
    const writing = setInterval(() => connection.socket.write('x'), 50);
    try {
      await gone;
    } finally {
      clearInterval(writing);
    }
  });
  it('gets the whole response if it reads slowly', async () => {
    const token = await deskbell.signIn();
    const body = { ...QUESTION, context: { question: 'Q?', more: 'x'.repeat(60_000) } };
    for (let n = 0; n < 200; n += 1) await raise(deskbell, token, body);
    const start = performance.now();
    const { socket } = await openConnection(
      port(),
      `GET ${NOTIFICATIONS}/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    let bytes = 0;
    let hurried = 0;
    socket.on('data', (part) => {
      bytes += part.length;
      hurried += part.length;
      if (hurried > 800_000) socket.pause();
    });
    const reading = setInterval(() => {
      hurried = 0;
      socket.resume();
    }, 1000);
    await once(socket, 'end').finally(() => clearInterval(reading));
    const seconds = (performance.now() - start) / 1000;
    assert.ok(bytes > 200 * 60_000, `${bytes} bytes`);
    assert.ok(seconds > 12, `${seconds} s were no test`);
  });
  it('does not delay other clients', async () => {
    const connections = await Promise.all(
      Array.from({ length: 50 }, () => openConnection(port(), LOGIN_HEAD)),
    );
    assert.equal((await deskbell.call('GET', '/healthz')).status, 200);
    for (const { socket } of connections) socket.destroy();
  });
});

onEachEngine('raw connections', (engine) => {
  const deskbell = useDeskbell(engine);
  const LAST = 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const send = (bytes: string) => openConnection(Number(new URL(deskbell.url).port), bytes);

  for (const [title, bytes] of [
    ['garbage', '\x00\x01\x02\r\n\r\n'],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['two lengths', `${LOGIN_HEAD}\r\nContent-Length: 3\r\n\r\n${BODY}`],
    ['a length and chunks', `${LOGIN_HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a header with a line break in it', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\rb\r\n\r\n'],
  ] as const) {
    it(`${title} is answered with 400 in the common error format`, async () => {
      assertBrokenReply(await (await send(bytes)).closed, 400, 'BAD_REQUEST');
    });
  }

  it('headers that are too large are answered with 431', async () => {
    const connection = await send(
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`,
    );
    assertBrokenReply(await connection.closed, 431, 'HEADERS_TOO_LARGE');
  });

  it('a client that sends far too many headers still gets the response', async () => {
    const connection = await send('');
    // The client is busy sending, so it reads late.
    connection.socket.pause();
    connection.socket.write(
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(5_000_000)}\r\n\r\n`,
    );
    await sleep(200);
    connection.socket.resume();
    assertBrokenReply(await connection.closed, 431, 'HEADERS_TOO_LARGE');
  });

  it('pipelined requests are answered in order', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const connection = await send(`${LOGIN_HEAD}\r\n\r\n${BODY}${get('/healthz')}${get('/nowhere')}${LAST}`);
    const received = await connection.closed;
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    assert.deepEqual(statuses, [200, 200, 404, 200]);
    assert.ok(received.indexOf('access_token') < received.indexOf('NOT_FOUND'));
  });

  it('a connection can be reused', async () => {
    const connection = await send('');
    for (let count = 1; count <= 5; count += 1) {
      connection.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await connection.until(new RegExp(`(HTTP/1\\.1 200 OK.*){${count}}`, 's'));
    }
    connection.socket.destroy();
  });

  it('a body may arrive in pieces', async () => {
    const connection = await send(`${LOGIN_HEAD}\r\n\r\n`);
    for (const byte of BODY) connection.socket.write(byte);
    await connection.until(/^HTTP\/1\.1 200 .*refresh_token/s);
    connection.socket.destroy();
  });
});
