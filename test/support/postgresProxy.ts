import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of PostgreSQL, which passes on what the test wants. */
export async function startPostgresProxy(
  postgresUrl: string,
  pass: (client: Socket, upstream: Socket) => void,
) {
  const url = new URL(postgresUrl);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(Number(port || 5432), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [client, upstream].map((each) => each.destroy()));
    }
    pass(client, upstream);
  });
  const accept = (port = 0) => once(proxy.listen(port, '127.0.0.1'), 'listening');
  await accept();
  const { port: ownPort } = proxy.address() as AddressInfo;
  url.host = `127.0.0.1:${ownPort}`;
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const close = () => {
    breakAll();
    proxy.close();
  };
  return {
    url: url.href,
    breakAll,
    /** As if PostgreSQL stopped: connections break, and new ones are refused until `resume`. */
    halt: close,
    resume: () => accept(ownPort),
    close,
  };
}

/** Data passes in both directions, except while it is frozen: then nobody gets an answer, nor an error. */
export async function startFreezer(postgresUrl: string) {
  let held: (() => void)[] | undefined;
  const forward = (from: Socket, to: Socket) =>
    from.on('data', (data) => {
      if (held) held.push(() => to.write(data));
      else to.write(data);
    });
  const proxy = await startPostgresProxy(postgresUrl, (client, upstream) => {
    forward(client, upstream);
    forward(upstream, client);
  });
  return {
    ...proxy,
    freeze() {
      held ??= [];
    },
    thaw() {
      const late = held ?? [];
      held = undefined;
      for (const pass of late) pass();
    },
  };
}
