import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase } from '../../support/databases.ts';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, QUESTION } from '../../support/server.ts';
import { type Fault, none } from './fault.ts';
import { percentile } from './figures.ts';

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
      const client = { stopped: false, pause: size === 'short' ? everyFiftyMs : () => 20 };
      const latencies = runNormalClient(server, token, client);
      await sleep(500);
      for (let n = 0; n < count; n += 1) {
        connections.push(openSlowConnection(server, token, SLOWNESSES[n % SLOWNESSES.length]!));
      }
      await Promise.all(connections.map(({ finished }) => finished));
      client.stopped = true;
      const ms = await latencies;
      const of = (...kinds: Slowness[]) => connections.filter(({ slowness }) => kinds.includes(slowness));
      return [
        { what: 'slow connections at the same time', value: connections.length, atLeast: count },
        none('connections never made', connections.filter(({ connected }) => !connected()).length),
        none(
          'slow headers and bodies without a 408',
          of('head', 'body').filter(({ status }) => status() !== 408).length,
        ),
        {
          what: 'longest time until the 408',
          value: Math.max(...of('head', 'body').map(({ seconds }) => seconds())),
          unit: 's',
          atMost: CLOSED_MAX_S,
        },
        none(
          `clients that never read, still served after ${CLOSED_MAX_S} s`,
          of('reader').filter(({ served }) => served()).length,
        ),
        {
          what: 'requests of a normal client in the meantime',
          value: ms.length,
          atLeast: 100,
          dependsOnSpeed: true,
        },
        { what: 'p99 of the normal client', value: percentile(ms, 0.99), unit: 'ms', atMost: 500 },
        none('the process stopped', server.child.exitCode === null ? 0 : 1),
      ];
    } finally {
      for (const { socket } of connections) socket.destroy();
      await server.stop();
      await testDatabase.remove();
    }
  },
};

/** Fewer requests on a fast machine, and not many fewer on a slow one. */
const everyFiftyMs = (tookMs: number): number => Math.max(0, 50 - tookMs);

/** Reads and writes, one request after another, and returns the latencies. */
async function runNormalClient(
  { url }: Serving,
  token: string,
  client: { stopped: boolean; pause(tookMs: number): number },
): Promise<number[]> {
  const latencies: number[] = [];
  for (let n = 0; !client.stopped; n += 1) {
    const startedAt = performance.now();
    const reply = await (n % 10 === 0
      ? call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION })
      : call(url, 'GET', n % 2 === 0 ? `${NOTIFICATIONS}/?limit=5` : '/readyz', { token }));
    // A failed request counts as one that never ends.
    const tookMs = performance.now() - startedAt;
    latencies.push(reply.status === 200 ? tookMs : Number.POSITIVE_INFINITY);
    await sleep(client.pause(tookMs));
  }
  return latencies;
}

interface SlowConnection {
  slowness: Slowness;
  socket: Socket;
  /** Resolves when the server has closed it, or after a time-out. */
  finished: Promise<void>;
  connected(): boolean;
  seconds(): number;
  status(): number;
  /** Whether every requested answer arrived. */
  served(): boolean;
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
  let head = '';
  let rest = '';
  let answers = 0;
  let endedAt = Number.POSITIVE_INFINITY;
  let connected = false;
  socket.on('data', (part) => {
    const text = rest + part.toString('latin1');
    head ||= text.slice(0, 100);
    answers += text.split('HTTP/1.1 200 OK\r\n').length - 1;
    rest = text.slice(-16);
  });
  socket.on('error', () => {});
  socket.once('connect', () => {
    connected = true;
    socket.write(firstBytes);
  });
  // A client that never reads also sends bytes, which must not extend its time. A line break between requests is ignored.
  const slowBytes = slowness === 'head' ? 'z' : slowness === 'body' ? ' ' : '\r\n';
  const sending = setInterval(() => socket.write(slowBytes), 1000);
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close'] as const) {
      socket.once(event, () => {
        endedAt = Math.min(endedAt, performance.now());
        clearInterval(sending);
        resolve();
      });
    }
  });
  /** A paused socket gets no events. Only reading again shows whether the server still sends. */
  async function pauseThenRead(): Promise<void> {
    socket.pause();
    await sleep(CLOSED_MAX_S * 1000);
    clearInterval(sending);
    socket.resume();
    while (answers < LARGE.times && endedAt === Number.POSITIVE_INFINITY) await sleep(20);
  }
  const timeout = sleep((CLOSED_MAX_S + 5) * 1000, undefined, { ref: false });
  return {
    slowness,
    socket,
    finished: Promise.race([slowness === 'reader' ? pauseThenRead() : ended, timeout]),
    connected: () => connected,
    seconds: () => (endedAt - startedAt) / 1000,
    status: () => Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    served: () => answers === LARGE.times,
  };
}
