import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase } from '../../support/databases.ts';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, QUESTION } from '../../support/server.ts';
import { type Fault, none } from './fault.ts';

/**
 * Connections that are slow on purpose: a third sends the head at a byte a second, a third sends the body that way,
 * and a third requests large answers and never reads them. The server must close all of them within these seconds.
 */
const CLOSED_MAX_S = 15;

type Slowness = 'head' | 'body' | 'reader';
const SLOWNESSES: readonly Slowness[] = ['head', 'body', 'reader'];

/**
 * What a reader requests, so often that both sides' buffers, 4 MB together, do not hold the answers. Not a list: one that
 * nobody reads ends for another reason, too.
 */
const LARGE = { path: '/openapi.json', times: 24 };

export const slow: Fault = {
  name: 'slow',
  title: 'hundreds of connections that are slow on purpose',
  // Closing them does not involve the database, so one engine is enough.
  engines: ['sqlite'],
  async run(engine, size) {
    const testDatabase = await createDemoDatabase(engine);
    const server = await serve({ ...testDatabase.env, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' });
    const connections: SlowConnection[] = [];
    try {
      const { access_token: token } = (await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA }))
        .json;
      const count = size === 'short' ? 15 : 500;
      const client = { stopped: false };
      const latencies = runNormalClient(server, token, client);
      await sleep(500);
      for (let n = 0; n < count; n += 1) {
        connections.push(openSlowConnection(server, token, SLOWNESSES[n % SLOWNESSES.length]!));
      }
      await Promise.all(connections.map(({ finished }) => finished));
      client.stopped = true;
      const ms = await latencies;
      const readers = connections.filter(({ slowness }) => slowness === 'reader');
      const senders = connections.filter(({ slowness }) => slowness !== 'reader');
      return [
        { what: 'slow connections at the same time', value: connections.length, atLeast: count },
        none('connections never made', connections.filter(({ connected }) => !connected).length),
        none(
          'slow headers and bodies without a 408',
          senders.filter(({ head }) => !head.startsWith('HTTP/1.1 408 ')).length,
        ),
        {
          what: 'longest time until the 408',
          value: Math.max(...senders.map(({ seconds }) => seconds)),
          unit: 's',
          atMost: CLOSED_MAX_S,
        },
        none(
          `clients that never read, still served after ${CLOSED_MAX_S} s`,
          readers.filter(({ answers }) => answers === LARGE.times).length,
        ),
        {
          what: 'requests of a normal client in the meantime',
          value: ms.length,
          atLeast: 100,
          dependsOnSpeed: true,
        },
        {
          what: 'p99 of the normal client',
          value: ms.toSorted((a, b) => a - b)[Math.floor(ms.length * 0.99)]!,
          unit: 'ms',
          atMost: 500,
        },
        none('the process stopped', server.child.exitCode === null ? 0 : 1),
      ];
    } finally {
      for (const { socket } of connections) socket.destroy();
      await server.stop();
      await testDatabase.remove();
    }
  },
};

/** Reads and writes, one request after another, and returns the latencies. */
async function runNormalClient(
  { url }: Serving,
  token: string,
  client: { stopped: boolean },
): Promise<number[]> {
  const latencies: number[] = [];
  for (let n = 0; !client.stopped; n += 1) {
    const startedAt = performance.now();
    const reply = await (n % 10 === 0
      ? call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION })
      : call(url, 'GET', n % 2 === 0 ? `${NOTIFICATIONS}/?limit=5` : '/readyz', { token }));
    // A failed request counts as one that never ends.
    latencies.push(reply.status === 200 ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
    await sleep(20);
  }
  return latencies;
}

interface SlowConnection {
  slowness: Slowness;
  socket: Socket;
  /** Resolves when the server has closed it, or after a time-out. */
  finished: Promise<unknown>;
  connected: boolean;
  seconds: number;
  /** The start of what the server sent. */
  head: string;
  /** How many of a reader's requests were answered. */
  answers: number;
}

function openSlowConnection({ port }: Serving, token: string, slowness: Slowness): SlowConnection {
  const startedAt = performance.now();
  const auth = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  const firstBytes = {
    head: `GET ${NOTIFICATIONS}/ HTTP/1.1\r\n${auth}X-Slow: `,
    body: `POST ${NOTIFICATIONS}/request HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n`,
    reader: `GET ${LARGE.path} HTTP/1.1\r\n${auth}\r\n`.repeat(LARGE.times),
  }[slowness];
  const socket = connect({ port, host: '127.0.0.1' });
  // A client that never reads also sends bytes, which must not extend its time. A line break between requests is ignored.
  const slowBytes = { head: 'z', body: ' ', reader: '\r\n' }[slowness];
  const sending = setInterval(() => socket.write(slowBytes), 1000);
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close']) socket.once(event, resolve);
  });
  void ended.then(() => {
    connection.seconds = (performance.now() - startedAt) / 1000;
    clearInterval(sending);
  });
  /** A paused socket gets no events. Only reading again shows whether the server still sends. */
  async function pauseThenRead(): Promise<void> {
    socket.pause();
    await sleep(CLOSED_MAX_S * 1000);
    clearInterval(sending);
    socket.resume();
    await ended;
  }
  const timeout = sleep((CLOSED_MAX_S + 5) * 1000, undefined, { ref: false });
  const connection: SlowConnection = {
    slowness,
    socket,
    finished: Promise.race([slowness === 'reader' ? pauseThenRead() : ended, timeout]),
    connected: false,
    seconds: Number.POSITIVE_INFINITY,
    head: '',
    answers: 0,
  };
  let rest = '';
  socket.on('data', (part) => {
    const text = rest + part.toString('latin1');
    connection.head ||= text.slice(0, 100);
    connection.answers += text.split('HTTP/1.1 200 OK\r\n').length - 1;
    rest = text.slice(-16);
  });
  socket.on('error', () => {});
  socket.once('connect', () => {
    connection.connected = true;
    socket.write(firstBytes);
  });
  return connection;
}
