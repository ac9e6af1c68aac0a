import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, call, NOTIFICATIONS, newDatabasePlace, QUESTION } from '../harness.ts';
import { type Serving, serve } from '../process.ts';
import { type Fault, none } from './fault.ts';
import { percentile } from './figures.ts';

/**
 * Connections that are slow on purpose: a third sends its head a byte a second, a third its body, and a
 * third asks for a large list and never reads it. All are to be gone within these seconds.
 */
const CUT_MAX_S = 15;

type Slowness = 'head' | 'body' | 'reader';
const SLOWNESSES: readonly Slowness[] = ['head', 'body', 'reader'];

/** A list of 3.6 MB, asked for four times on a connection: the systems on both sides buffer 4 MB of that. */
const LARGE = { notifications: 40, bytes: 90_000, times: 4 };

export const slow: Fault = {
  name: 'slow',
  title: 'hundreds of connections are slow on purpose',
  // What cuts them off stands before any database; a second run would wait as long and tell nothing new.
  engines: ['sqlite'],
  async run(engine, size) {
    const place = await newDatabasePlace(engine);
    const server = await serve({ ...place.env, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' });
    const connections: Slow[] = [];
    try {
      const { access_token: token } = (await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA }))
        .json;
      await raiseLargeList(server, token);
      const count = size === 'short' ? 60 : 500;
      const good = { stop: false };
      const latencies = beGood(server, token, good);
      await sleep(500);
      for (let n = 0; n < count; n += 1) {
        connections.push(beSlow(server, token, SLOWNESSES[n % SLOWNESSES.length]!));
      }
      await Promise.all(connections.map(({ over }) => over));
      good.stop = true;
      const ms = await latencies;
      const of = (...kinds: Slowness[]) => connections.filter(({ slowness }) => kinds.includes(slowness));
      return [
        { what: 'slow connections at once', value: connections.length, atLeast: count },
        none('never connected', connections.filter(({ began }) => !began()).length),
        none(
          'slow heads and bodies not told 408',
          of('head', 'body').filter(({ told }) => told() !== 408).length,
        ),
        {
          what: 'the longest slow head or body',
          value: Math.max(...of('head', 'body').map(({ seconds }) => seconds())),
          unit: 's',
          atMost: CUT_MAX_S,
        },
        none(
          `readers of nothing still served after ${CUT_MAX_S} s`,
          of('reader').filter(({ served }) => served()).length,
        ),
        { what: 'requests of a good client meanwhile', value: ms.length, atLeast: 100, bySpeed: true },
        { what: 'the good client’s p99', value: percentile(ms, 0.99), unit: 'ms', atMost: 500 },
        none('the process ended', server.child.exitCode === null ? 0 : 1),
      ];
    } finally {
      for (const { socket } of connections) socket.destroy();
      await server.stop();
      await place.remove();
    }
  },
};

async function raiseLargeList({ url }: Serving, token: string): Promise<void> {
  const body = { ...QUESTION, context: { question: 'Q?', more: 'x'.repeat(LARGE.bytes) } };
  for (let n = 0; n < LARGE.notifications; n += 1) {
    await call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body });
  }
}

/** Reads and writes, one request after another, and gives what each took. */
async function beGood({ url }: Serving, token: string, good: { stop: boolean }): Promise<number[]> {
  const latencies: number[] = [];
  for (let n = 0; !good.stop; n += 1) {
    const startedAt = performance.now();
    const reply = await (n % 10 === 0
      ? call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION })
      : call(url, 'GET', n % 2 === 0 ? `${NOTIFICATIONS}/?limit=5` : '/readyz', { token }));
    // An answer that is none is as bad as one that never comes.
    latencies.push(reply.status === 200 ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
    await sleep(20);
  }
  return latencies;
}

interface Slow {
  slowness: Slowness;
  socket: Socket;
  /** Resolves when the server has cut it off, or its time is over. */
  over: Promise<void>;
  began(): boolean;
  seconds(): number;
  told(): number | undefined;
  /** Whether every answer that was asked for came. */
  served(): boolean;
}

function beSlow({ port }: Serving, token: string, slowness: Slowness): Slow {
  const startedAt = performance.now();
  const auth = `Host: x\r\nAuthorization: Bearer ${token}\r\n`;
  const begin = {
    head: `GET ${NOTIFICATIONS}/ HTTP/1.1\r\n${auth}X-Slow: `,
    body: `POST ${NOTIFICATIONS}/request HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n`,
    reader: `GET ${NOTIFICATIONS}/ HTTP/1.1\r\n${auth}\r\n`.repeat(LARGE.times),
  }[slowness];
  const socket = connect({ port, host: '127.0.0.1' });
  let head = '';
  let rest = '';
  let answers = 0;
  let endedAt = Number.POSITIVE_INFINITY;
  let began = false;
  socket.on('data', (part) => {
    const text = rest + part.toString('latin1');
    head ||= text.slice(0, 100);
    answers += text.split('HTTP/1.1 200 OK\r\n').length - 1;
    rest = text.slice(-16);
  });
  socket.on('error', () => {});
  socket.once('connect', () => {
    began = true;
    socket.write(begin);
  });
  // A reader of nothing drips, too: what it sends must not buy it time. Between requests a line break is nothing.
  const drip = slowness === 'head' ? 'z' : slowness === 'body' ? ' ' : '\r\n';
  const dripping = setInterval(() => socket.write(drip), 1000);
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close'] as const) {
      socket.once(event, () => {
        endedAt = Math.min(endedAt, performance.now());
        clearInterval(dripping);
        resolve();
      });
    }
  });
  /** Paused sockets hear of nothing: only reading on tells whether there is still somebody who sends. */
  async function readAtLast(): Promise<void> {
    socket.pause();
    await sleep(CUT_MAX_S * 1000);
    clearInterval(dripping);
    socket.resume();
    while (answers < LARGE.times && endedAt === Number.POSITIVE_INFINITY) await sleep(20);
  }
  const giveUp = sleep((CUT_MAX_S + 5) * 1000, undefined, { ref: false });
  return {
    slowness,
    socket,
    over: Promise.race([slowness === 'reader' ? readAtLast() : ended, giveUp]),
    began: () => began,
    seconds: () => (endedAt - startedAt) / 1000,
    told: () => Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    served: () => answers === LARGE.times,
  };
}
