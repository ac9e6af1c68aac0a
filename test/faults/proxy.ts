import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One address before one or several others: a network that may fall silent, and a simple load balancer. */
export interface LoopbackProxy {
  port: number;
  /**
   * Nobody hears anything any more, and nobody is told: connections stay open, new ones are taken and never
   * answered, and what is said goes nowhere.
   */
  silence(): void;
  /** For new connections. Those that met the silence stay in it. */
  speak(): void;
  close(): Promise<void>;
}

/** In turn; a backend that does not take the connection is passed over. */
export async function startProxy(backends: readonly number[]): Promise<LoopbackProxy> {
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [Socket, Socket]>();
  let silent = false;
  let turn = 0;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };

  async function reach(): Promise<Socket | undefined> {
    const first = turn;
    turn += 1;
    for (let tries = 0; tries < backends.length; tries += 1) {
      const port = backends[(first + tries) % backends.length]!;
      const socket = keep(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
      if (await once(socket, 'connect').catch(() => false)) return socket;
    }
    return undefined;
  }

  // Half open: a goodbye of one side is the other's only if it is passed on.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (client) => {
    keep(client);
    if (silent) return void client.resume();
    const backend = await reach();
    if (!backend) return void client.resetAndDestroy();
    const pair = [client, backend] as const;
    pairs.add(pair);
    const part = (other: Socket) => {
      // An end that came in the silence is not told.
      if (pairs.delete(pair)) other.destroySoon();
    };
    client.once('close', () => part(backend)).pipe(backend);
    backend.once('close', () => part(client)).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      silent = true;
      for (const [client, backend] of pairs) {
        client.unpipe(backend).resume();
        backend.unpipe(client).resume();
      }
      pairs.clear();
    },
    speak() {
      silent = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
