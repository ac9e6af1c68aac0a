import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A load balancer: a request goes to the next server in turn, and waits while there is none. */
export interface Balancer {
  url: string;
  add(port: number): void;
  /** Resolves when the server has answered all requests that it got. */
  remove(port: number): Promise<void>;
  close(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const open = new Map<number, number>();
  let ports: number[] = [];
  let turn = 0;
  let waiting: (() => void)[] = [];
  let changed = () => {};

  async function nextPort(): Promise<number> {
    while (ports.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    turn += 1;
    return ports[turn % ports.length]!;
  }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const port = await nextPort();
    open.set(port, (open.get(port) ?? 0) + 1);
    const { method, url: path, headers } = request;
    // It never sends a request twice: whatever a server refuses, the client sees.
    const upstream = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false });
    const done = () => {
      open.set(port, open.get(port)! - 1);
      changed();
    };
    upstream.on('response', (reply) => {
      response.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(response);
      reply.once('close', done);
    });
    upstream.once('error', (error) => {
      response.writeHead(502).end(String(error));
      done();
    });
    upstream.end(Buffer.concat(chunks));
  }

  const server = createServer((request, response) => void pass(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add(port) {
      ports.push(port);
      const released = waiting;
      waiting = [];
      for (const release of released) release();
    },
    async remove(port) {
      ports = ports.filter((other) => other !== port);
      while (open.get(port)) {
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
