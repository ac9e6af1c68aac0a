import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of one or more servers: a network that can stop passing data, and a simple load balancer. */
export interface LoopbackProxy {
  port: number;
  /**
   * Drops all data without closing anything: connections stay open, new ones are accepted and never answered,
   * and nobody gets an error.
   */
  dropTraffic(): void;
  /** Passes data again, on new connections only. */
  passTraffic(): void;
  close(): Promise<void>;
}

/** Round-robin; it skips a backend that does not accept the connection. */
export async function startProxy(backends: readonly number[]): Promise<LoopbackProxy> {
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [Socket, Socket]>();
  let dropping = false;
  let nextBackend = 0;

  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };

  async function connectToBackend(): Promise<Socket | undefined> {
    const first = nextBackend;
    nextBackend += 1;
    for (let tries = 0; tries < backends.length; tries += 1) {
      const port = backends[(first + tries) % backends.length]!;
      const socket = track(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
      if (await once(socket, 'connect').catch(() => false)) return socket;
    }
    return undefined;
  }

  // Half open: the proxy itself decides whether to pass on the end of a connection.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (client) => {
    track(client);
    if (dropping) return void client.resume();
    const backend = await connectToBackend();
    if (!backend) return void client.resetAndDestroy();
    const pair = [client, backend] as const;
    pairs.add(pair);
    const closeOther = (other: Socket) => {
      // While traffic is dropped, the end of a connection is not passed on either.
      if (pairs.delete(pair)) other.destroySoon();
    };
    client.once('close', () => closeOther(backend)).pipe(backend);
    backend.once('close', () => closeOther(client)).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    dropTraffic() {
      dropping = true;
      for (const [client, backend] of pairs) {
        client.unpipe(backend).resume();
        backend.unpipe(client).resume();
      }
      pairs.clear();
    },
    passTraffic() {
      dropping = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
