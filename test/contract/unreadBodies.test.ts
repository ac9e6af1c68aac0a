import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../support/process.ts';
import { type Deskbell, useDeskbell } from '../support/server.ts';

/** Requests that are answered before their body has arrived. The client sends all of it before it reads. */

/** It looks like a signature, so the body is read. */
const SIGNATURE = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`;
const MB = 1024 * 1024;
const REPETITIONS = 2;
/** The server closes the connection of a client that sends nothing for this long, which is then no test. */
const SILENT_MAX_MS = 1000;
const GIVE_UP_AFTER_MS = 60_000;
/** The server has answered before these arrive. */
const LATE_BYTES = 100_000;
const JSON_TYPE = 'Content-Type: application/json';
const CSV_TYPE = 'Content-Type: text/csv';
const LOGIN = 'POST /api/v1/auth/login';
const WHATSAPP = 'POST /webhooks/whatsapp';

type Framing = 'content-length' | 'chunked';
const FRAMINGS: readonly Framing[] = ['content-length', 'chunked'];

const portOf = ({ url }: Deskbell) => Number(new URL(url).port);

function requestOf(line: string, headers: readonly string[], framing: Framing, bytes: number): string {
  const length = framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`;
  const chunk = 'x'.repeat(64 * 1024);
  const chunks = Math.ceil(bytes / chunk.length);
  const body =
    framing === 'chunked'
      ? `${`${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(chunks)}0\r\n\r\n`
      : 'x'.repeat(bytes);
  return `${[`${line} HTTP/1.1`, 'Host: localhost', ...headers, length].join('\r\n')}\r\n\r\n${body}`;
}

/** Sends everything, the end a bit later, and only then reads the answer. */
async function sendThenRead(deskbell: Deskbell, text: string): Promise<string> {
  const connection = await openConnection(portOf(deskbell));
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

function assertAnswered(received: string, status: number, code: string): void {
  const [head = '', body = ''] = received.split('\r\n\r\n');
  assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), `received: ${received}`);
  assert.equal(JSON.parse(body).code, code);
}

describe('the answer to a body that is not read', () => {
  const deskbell = useDeskbell('sqlite');
  const limited = useDeskbell('sqlite', { RATE_LIMIT_PER_MINUTE: '1' });

  /** Several at once, on connections that stay open and on others that close. */
  async function assertAllAnswered(
    server: Deskbell,
    send: (connection: string) => string,
    status: number,
    code: string,
  ) {
    const requests = ['keep-alive', 'close'].map((value) => send(`Connection: ${value}`));
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
    for (let n = 0; n < REPETITIONS; ) {
      const startedAt = performance.now();
      const received = await Promise.all(requests.map((text) => sendThenRead(server, text)));
      const endedAt = performance.now();
      // This process stood still for longer than the server waits, so whatever came says nothing.
      if (endedAt - startedAt >= SILENT_MAX_MS && endedAt < giveUpAt) continue;
      for (const text of received) assertAnswered(text, status, code);
      n += 1;
    }
  }

  for (const [title, framing, line, status, code, headers, bytes = 2 * MB] of [
    ['too large', 'content-length', LOGIN, 413, 'PAYLOAD_TOO_LARGE', [JSON_TYPE]],
    ['too large', 'chunked', LOGIN, 413, 'PAYLOAD_TOO_LARGE', [JSON_TYPE]],
    ['too large for WhatsApp', 'chunked', WHATSAPP, 413, 'PAYLOAD_TOO_LARGE', [JSON_TYPE, SIGNATURE], 4 * MB],
    ['without a token', 'chunked', 'POST /api/v1/notification/request', 401, 'INVALID_TOKEN', [JSON_TYPE]],
    ['at an unknown path', 'content-length', 'POST /nowhere', 404, 'NOT_FOUND', [CSV_TYPE]],
    ['of another type', 'chunked', LOGIN, 415, 'UNSUPPORTED_MEDIA_TYPE', [CSV_TYPE]],
  ] as [string, Framing, string, number, string, string[], number?][])
    it(`arrives: ${title} (${framing})`, () =>
      assertAllAnswered(
        deskbell,
        (connection) => requestOf(line, [...headers, connection], framing, bytes),
        status,
        code,
      ));

  it('arrives: above the rate limit', async () => {
    await limited.call('GET', '/nowhere');
    const send = (connection: string) => requestOf(LOGIN, [JSON_TYPE, connection], 'content-length', 2 * MB);
    await assertAllAnswered(limited, send, 429, 'RATE_LIMITED');
  });

  it('does not end a connection that is to stay open, if the body is short', async () => {
    const connection = await openConnection(portOf(deskbell));
    for (let n = 1; n <= 3; n += 1) {
      for (const framing of FRAMINGS) {
        connection.socket.write(requestOf('POST /nowhere', [], framing, 100_000));
      }
      await connection.until(new RegExp(`(HTTP/1\\.1 404 .*){${2 * n}}`, 's'));
    }
    connection.socket.destroy();
  });

  it('is not followed by the next request on a connection that closes', async () => {
    const connection = await openConnection(portOf(deskbell));
    const next =
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: next\r\nContent-Length: 0\r\n\r\n';
    connection.socket.write(requestOf(LOGIN, [JSON_TYPE], 'content-length', MB) + next);
    assertAnswered(await connection.closed, 413, 'PAYLOAD_TOO_LARGE');
    await sleep(50);
    connection.socket.destroy();
    assert.ok(!deskbell.logged.some((entry) => entry.includes('"request_id":"next"')));
  });

  for (const [title, line, headers] of [
    ['refused', 'POST /nowhere', []],
    ['too large', LOGIN, [JSON_TYPE]],
  ] as const) {
    it(`is the last if the body never ends: ${title}`, async () => {
      const connection = await openConnection(portOf(deskbell));
      const gone = new Promise((resolve) => connection.socket.once('close', resolve));
      const endless = requestOf(line, headers, 'chunked', MB).slice(0, -'0\r\n\r\n'.length);
      const [head = '', chunks = ''] = endless.split(/(?<=\r\n\r\n)/);
      connection.socket.write(head);
      let sentMb = 0;
      for (; sentMb < 64 && !connection.socket.destroyed; sentMb += 1) {
        await Promise.race([new Promise((resolve) => connection.socket.write(chunks, resolve)), gone]);
      }
      await gone;
      assert.ok(sentMb < 64, `${sentMb} MB`);
      assert.equal(connection.received().match(/HTTP\/1\.1/g)?.length, 1);
    });
  }
});
