import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { afterEach, before, describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { useMerchant } from '../support/merchants.ts';
import { type Connection, openConnection } from '../support/process.ts';
import { AURORA, type Deskbell, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

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
  before(async () => {
    const server = await httpServerOf(deskbell);
    assert.deepEqual([server.headersTimeout, server.requestTimeout], [10_000, 12_000]);
    Object.assign(server, { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS });
  });

  for (const [title, bytes, piece] of [
    ['half a header', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'z'],
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
});

describe('a raw connection', () => {
  const shop = useMerchant('sqlite');
  const send = (bytes: string) => openConnection(portOf(shop.deskbell), bytes);

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
});

describe('many connections', () => {
  const shop = useMerchant('sqlite');
  const deskbell = useDeskbell('sqlite', { CONNECTIONS_PER_ADDRESS: String(CONNECTIONS_MAX) });
  const opened: Connection[] = [];
  const open = async (bytes = '', server = deskbell) => {
    const connection = await openConnection(portOf(server), bytes);
    opened.push(connection);
    return connection;
  };
  afterEach(() => {
    mock.restoreAll();
    for (const { socket } of opened.splice(0)) socket.destroy();
  });

  it('of an address above its limit get 503 with Retry-After, and are closed', async () => {
    for (let n = 0; n < CONNECTIONS_MAX; n += 1) await (await open(GET)).until(/HTTP\/1\.1 200/);
    // The request may come before or after the response.
    for (const bytes of ['', GET, GET]) {
      const received = await (await open(bytes)).closed;
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
    const last = GET.replace('Host', 'Connection: close\r\nHost');
    await until('one more gets in', async () => (await (await open(last)).closed).startsWith('HTTP/1.1 200'));
  });

  it('are closed without requests, even if line breaks arrive', async () => {
    const connection = await open(GET, shop.deskbell);
    await connection.until(/HTTP\/1\.1 200/);
    const now = performance.now.bind(performance);
    const sending = setInterval(() => connection.socket.write('\r\n'), 100);
    try {
      await sleep(1100);
      assert.equal(connection.socket.readableEnded, false);
      mock.method(performance, 'now', () => now() + 90_000);
      await connection.closed;
    } finally {
      clearInterval(sending);
    }
  });
});

const MB = 1024 * 1024;
/** The server closes the connection of a client that sends nothing for this long, which is then no test. */
const SILENT_MAX_MS = 1000;
const GIVE_UP_AFTER_MS = 60_000;
/** The server has answered before these arrive. */
const LATE_BYTES = 100_000;

type Framing = 'content-length' | 'chunked';

const JSON_TYPE = 'Content-Type: application/json';

function requestOf(line: string, headers: readonly string[], framing: Framing, bytes: number): string {
  const length = framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`;
  const chunk = `10000\r\n${'x'.repeat(64 * 1024)}\r\n`;
  const body =
    framing === 'chunked' ? `${chunk.repeat(Math.ceil(bytes / 65_536))}0\r\n\r\n` : 'x'.repeat(bytes);
  const head = [`${line} HTTP/1.1`, 'Host: localhost', ...headers, length];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** The client sends all of its body before it reads. */
describe('the answer to a body that is not read', () => {
  const shop = useMerchant('sqlite');
  const connect = () => openConnection(portOf(shop.deskbell));

  /** Sends everything, the end a bit later, and only then reads the answer. */
  async function sendThenRead(text: string): Promise<string> {
    const connection = await connect();
    const { socket } = connection;
    socket.pause();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    for (const part of [text.slice(0, -LATE_BYTES), text.slice(-LATE_BYTES)]) {
      await Promise.race([new Promise((resolve) => socket.write(part, resolve)), closed]);
      await sleep(20);
    }
    socket.resume();
    await Promise.race([connection.closed, connection.until(/\r\n\r\n.*\}/s).catch(() => {})]);
    socket.destroy();
    return connection.received();
  }

  for (const [title, framing, line, type, status] of [
    ['too large', 'content-length', 'POST /api/v1/auth/login', JSON_TYPE, 413],
    ['without a token', 'chunked', 'POST /api/v1/notification/request', JSON_TYPE, 401],
    ['at an unknown path', 'content-length', 'POST /nowhere', 'Content-Type: text/csv', 404],
  ] as const)
    it(`arrives: ${title} (${framing})`, async () => {
      const requests = ['keep-alive', 'close'].map((value) =>
        requestOf(line, [type, `Connection: ${value}`], framing, 2 * MB),
      );
      for (const giveUpAt = performance.now() + GIVE_UP_AFTER_MS; ; ) {
        const startedAt = performance.now();
        const received = await Promise.all(requests.map(sendThenRead));
        const endedAt = performance.now();
        // This process stood still for longer than the server waits, so whatever came says nothing.
        if (endedAt - startedAt >= SILENT_MAX_MS && endedAt < giveUpAt) continue;
        for (const text of received) assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} .*"code":`, 's'));
        return;
      }
    });

  it('does not end a connection that is to stay open, if the body is short', async () => {
    const connection = await connect();
    for (let n = 1; n <= 3; n += 1) {
      connection.socket.write(requestOf('POST /nowhere', [], 'chunked', 100_000));
      await connection.until(new RegExp(`(HTTP/1\\.1 404 .*){${n}}`, 's'));
    }
    connection.socket.destroy();
  });

  it('is the last if the body never ends', async () => {
    const { socket, received } = await connect();
    const gone = new Promise((resolve) => socket.once('close', resolve));
    const endless = requestOf('POST /api/v1/auth/login', [JSON_TYPE], 'chunked', MB).slice(
      0,
      -'0\r\n\r\n'.length,
    );
    const [head = '', chunks = ''] = endless.split(/(?<=\r\n\r\n)/);
    socket.write(head);
    let sentMb = 0;
    for (; sentMb < 64 && !socket.destroyed; sentMb += 1)
      await Promise.race([new Promise((resolve) => socket.write(chunks, resolve)), gone]);
    await gone;
    assert.ok(sentMb < 64, `${sentMb} MB`);
    assert.equal(received().match(/HTTP\/1\.1/g)?.length, 1);
  });
});
