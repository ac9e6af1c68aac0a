import { connect, Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** A server that is about to stop. Until its port is closed, it serves everything else as before. */
export interface Drain {
  /** Then `/readyz` fails, so that proxies choose another server. */
  isOn(): boolean;
  /** Resolves when the port is closed. Requests on open connections go on. */
  start(app: FastifyInstance, seconds: number): Promise<void>;
}

export function createDrain(): Drain {
  let isOn = false;
  return {
    isOn: () => isOn,
    async start({ server }, seconds) {
      isOn = true;
      // The client opens its next connection elsewhere. One that is still idle at the end was not used all this time, so
      // it is unlikely that a request is under way on it when it is closed.
      server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
      await sleep(seconds * 1000);
      await closePort(server);
    },
  };
}

const TRIES_MAX = 200;
const TRY_AGAIN_MS = 5;
/** With this setting Linux queues two connections. Our own two fill the queue. */
const SHORT_QUEUE = 1;

interface Handle {
  listen?(backlog: number): number;
  getpeername?(into: object): number;
}
type WithHandle = { _handle?: Handle | null };

/**
 * The system accepts connections into a queue, before Node does. If the port is closed while one is in the queue, its
 * client has sent a request already and gets a reset; a proxy must not repeat a POST then. (Closed at once, a busy
 * server lost 19 of them each time.) So we fill the queue with our own connections: other clients are refused before
 * they send anything. If others were faster, Node accepts them and we try again.
 */
async function closePort(server: FastifyInstance['server']): Promise<void> {
  const address = server.address();
  const handle = (server as WithHandle)._handle;
  if (handle?.listen && address !== null && typeof address === 'object') {
    const { port, address: bound } = address;
    const host = bound === '0.0.0.0' ? '127.0.0.1' : bound === '::' ? '::1' : bound;
    handle.listen(SHORT_QUEUE);
    for (let tries = 0; tries < TRIES_MAX && !(await closeIfOnlyOurs(server, { host, port })); tries += 1)
      await sleep(TRY_AGAIN_MS);
  }
  closeListener(server);
}

/** Everything here happens before Node accepts the next connection. */
function closeIfOnlyOurs(
  server: FastifyInstance['server'],
  to: { host: string; port: number },
): Promise<boolean> {
  const ours = Array.from({ length: SHORT_QUEUE + 1 }, () => connect(to).on('error', () => {}));
  return new Promise((resolve) => {
    // Node connects in the next tick, too, and these were first. To this machine, a connection is complete at once.
    process.nextTick(() => {
      const isFull = ours.every((socket) => (socket as WithHandle)._handle?.getpeername?.({}) === 0);
      if (isFull) closeListener(server);
      for (const socket of ours) socket.destroy();
      resolve(isFull);
    });
  });
}

/** Not `server.close()`, which closes idle connections, too. */
function closeListener(server: FastifyInstance['server']): void {
  if (server.listening) NetServer.prototype.close.call(server);
}
