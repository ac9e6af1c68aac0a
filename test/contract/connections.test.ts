import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterEach, before, describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, openConnection } from '../support/process.ts';
import {
  AURORA,
  type Deskbell,
  NOTIFICATIONS,
  QUESTION,
  raise,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';

/** Requests that fetch cannot send: byte by byte, late, broken, or all at once. And how many connections there may be. */

const BODY = JSON.stringify(AURORA);
const LOGIN_HEAD = [
  'POST /api/v1/auth/login HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
].join('\r\n');
const GET = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const CONNECTIONS_MAX = 5;
/** Instead of ten and twelve seconds. The server checks its connections every second. */
const HEADERS_MS = 2000;
const REQUEST_MS = 2500;
const SLOWLY_READ_BYTES = 8_000_000;

const portOf = ({ url }: Deskbell) => Number(new URL(url).port);

function assertBrokenReply(received: string, status: number, code: string): void {
  const [head = '', body = ''] = received.split('\r\n\r\n');
  assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), received);
  assert.match(head, /\r\nContent-Type: application\/json; charset=utf-8/i);
  assert.match(head, /\r\nConnection: close/i);
  const { detail, ...rest } = JSON.parse(body);
  assert.match(detail, /\w/);
  assert.deepEqual(rest, { code });
}

/** Node's own server, which Node names with each request. */
async function httpServerOf(deskbell: Deskbell): Promise<Server> {
  let found: Server | undefined;
  const notice = (message: unknown) => {
    const { server } = message as { server: Server };
    const address = server.address();
    if (typeof address === 'object' && address?.port === portOf(deskbell)) found = server;
  };
  diagnostics.subscribe('http.server.request.start', notice);
  await deskbell.call('GET', '/healthz');
  diagnostics.unsubscribe('http.server.request.start', notice);
  return found!;
}

describe('a slow client', { concurrency: true }, () => {
  const deskbell = useDeskbell('sqlite');
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
    const body = { ...QUESTION, context: { question: 'Q?', more: 'x'.repeat(60_000) } };
    const id = (await raise(deskbell, token, body)).split('/').at(-1);
    await deskbell.database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < $2)
        insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id)
        select merchant_id, conversation_id, notification_type, created_at, updated_at, context, requested_fields,
          answered_fields, answer_schema_id from notifications cross join n where id = $1`,
      [Number(id), SLOWLY_READ_BYTES / 60_000],
    );
    const server = await httpServerOf(deskbell);
    assert.deepEqual([server.headersTimeout, server.requestTimeout], [10_000, 12_000]);
    Object.assign(server, { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS });
  });

  for (const [title, bytes, piece] of [
    ['half a header', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'z'],
    ['nothing', '', ''],
    ['only line breaks', '\r\n', '\r\n'],
    ['half a body', `${LOGIN_HEAD}\r\n\r\n{`, ' '],
  ] as const)
    it(`is disconnected with 408 if it sends ${title}`, async () => {
      const connection = await openConnection(portOf(deskbell), bytes);
      // Slow, but not silent.
      let sent: string = piece;
      const timer = setInterval(() => connection.socket.write(sent), 100);
      try {
        assertBrokenReply(await connection.closed, 408, 'REQUEST_TIMEOUT');
        sent = 'x';
        // The other side has closed the connection, so it answers with a reset.
        await new Promise((resolve) => connection.socket.once('close', resolve));
      } finally {
        clearInterval(timer);
        connection.socket.destroy();
      }
    });

  it('gets the whole response if it reads slowly', async () => {
    const start = performance.now();
    const { socket } = await openConnection(
      portOf(deskbell),
      `GET ${NOTIFICATIONS}/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    let bytes = 0;
    let sinceResumed = 0;
    socket.on('data', (part) => {
      bytes += part.length;
      sinceResumed += part.length;
      if (sinceResumed > SLOWLY_READ_BYTES / 10) socket.pause();
    });
    const reading = setInterval(() => {
      sinceResumed = 0;
      socket.resume();
    }, 600);
    await once(socket, 'end').finally(() => clearInterval(reading));
    assert.ok(bytes > SLOWLY_READ_BYTES, `${bytes} bytes`);
    // Otherwise it is no test.
    assert.ok(performance.now() - start > REQUEST_MS + 2000);
  });

  it('does not delay other clients', async () => {
    const connections = await Promise.all(
      Array.from({ length: 50 }, () => openConnection(portOf(deskbell), LOGIN_HEAD)),
    );
    assert.equal((await deskbell.call('GET', '/healthz')).status, 200);
    for (const { socket } of connections) socket.destroy();
  });
});

describe('a raw connection', () => {
  const deskbell = useDeskbell('sqlite');
  const LAST = 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const send = (bytes: string) => openConnection(portOf(deskbell), bytes);

  it('gets 400 in the common error format for what is no HTTP', async () => {
    for (const bytes of [
      '\x00\x01\x02\r\n\r\n',
      // Another protocol, and a method that does not exist.
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n',
      // Two lengths, a length and chunks, and a header with a line break in it.
      `${LOGIN_HEAD}\r\nContent-Length: 3\r\n\r\n${BODY}`,
      `${LOGIN_HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\rb\r\n\r\n',
    ])
      assertBrokenReply(await (await send(bytes)).closed, 400, 'BAD_REQUEST');
  });

  it('gets 431 for headers that are too large, also if it sends far more and reads late', async () => {
    const headers = (bytes: number) =>
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(bytes)}\r\n\r\n`;
    assertBrokenReply(await (await send(headers(20_000))).closed, 431, 'HEADERS_TOO_LARGE');
    const connection = await send('');
    connection.socket.pause();
    connection.socket.write(headers(5_000_000));
    await sleep(200);
    connection.socket.resume();
    assertBrokenReply(await connection.closed, 431, 'HEADERS_TOO_LARGE');
  });

  it('gets the responses to pipelined requests in order', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const connection = await send(`${LOGIN_HEAD}\r\n\r\n${BODY}${get('/healthz')}${get('/nowhere')}${LAST}`);
    const received = await connection.closed;
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    assert.deepEqual(statuses, [200, 200, 404, 200]);
    assert.ok(received.indexOf('access_token') < received.indexOf('NOT_FOUND'));
  });
});

describe('many connections', () => {
  const deskbell = useDeskbell('sqlite', { CONNECTIONS_PER_ADDRESS: String(CONNECTIONS_MAX) });
  const unlimited = useDeskbell('sqlite', { CONNECTIONS_PER_ADDRESS: '0' });
  const opened: Connection[] = [];
  const open = async (server: Deskbell, bytes = '') => {
    const connection = await openConnection(portOf(server), bytes);
    opened.push(connection);
    return connection;
  };
  afterEach(() => {
    mock.restoreAll();
    for (const { socket } of opened.splice(0)) socket.destroy();
  });

  /** The server may not yet have noticed that the connections of the test before are closed, and refuse some. */
  const fill = async () => {
    const giveUpAt = Date.now() + 30_000;
    for (let accepted = 0; accepted < CONNECTIONS_MAX; ) {
      const received = await (await open(deskbell, GET)).until(/HTTP\/1\.1 \d{3}/);
      if (received.startsWith('HTTP/1.1 200')) accepted += 1;
      else opened.pop()!.socket.destroy();
      assert.ok(Date.now() < giveUpAt, received);
    }
  };

  it('of an address above its limit get 503 with Retry-After, and are closed', async () => {
    await fill();
    // The request may come before or after the response.
    for (const bytes of ['', GET, GET]) {
      const received = await (await open(deskbell, bytes)).closed;
      const [head = '', body = ''] = received.split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 503 /, received);
      assert.match(head, /\r\nretry-after: \d/i);
      assert.match(head, /\r\nconnection: close/i);
      assert.equal(JSON.parse(body).code, 'SERVICE_UNAVAILABLE');
    }
    const warnings = deskbell.logged.filter((line) => line.includes('too many connections'));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /"address":"127\.0\.0\.0\/24"/);
    // Those that are open still work, and a closed one makes room.
    opened[0]!.socket.write(GET);
    await opened[0]!.until(/(HTTP\/1\.1 200.*){2}/s);
    opened[0]!.socket.destroy();
    for (const giveUpAt = Date.now() + 30_000; ; await sleep(20)) {
      const received = await (await open(deskbell, GET.replace('Host', 'Connection: close\r\nHost'))).closed;
      if (Date.now() > giveUpAt || received.startsWith('HTTP/1.1 200')) {
        assert.match(received, /^HTTP\/1\.1 200/);
        break;
      }
    }
  });

  it('of an address far above its limit are closed at once', async () => {
    await fill();
    const many = await Promise.all(Array.from({ length: 150 }, () => open(deskbell).catch(() => undefined)));
    const received = await Promise.all(many.map((connection) => connection?.closed));
    for (const text of received) assert.match(text ?? '', /^$|^HTTP\/1\.1 503 /);
  });

  it('are not limited with 0', async () => {
    const many = await Promise.all(Array.from({ length: 50 }, () => open(unlimited, GET)));
    await Promise.all(many.map((connection) => connection.until(/HTTP\/1\.1 200/)));
  });

  it('do not delay a stop if they have no requests', async () => {
    const stopping = await startDeskbell('sqlite');
    const connections = await Promise.all(Array.from({ length: 10 }, () => open(stopping)));
    await stopping.close();
    for (const connection of connections) assert.equal(await connection.closed, '');
  });

  it('are closed without requests, even if line breaks arrive', async () => {
    const connection = await open(unlimited, GET);
    await connection.until(/HTTP\/1\.1 200/);
    const now = performance.now.bind(performance);
    const sending = setInterval(() => connection.socket.write('\r\n'), 100);
    try {
      await sleep(1100);
      mock.method(performance, 'now', () => now() + 90_000);
      await connection.closed;
    } finally {
      clearInterval(sending);
    }
  });
});
