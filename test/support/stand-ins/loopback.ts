import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts it on this port of this machine, by default a free one. */
export async function listenLocally(server: Server, wanted = 0) {
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    close(): Promise<void> {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
