/**
 * What the service is compared with, each in its own process: the same bytes from plain node:http, and plain argon2
 * with the service's parameters, which are part of the hash.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify } from '@node-rs/argon2';
import { hashFor } from './hashing.ts';

export type FloorJob =
  | { floor: 'http'; bodies: Record<string, string> }
  | { floor: 'argon2'; hash: string; password: string; parallel: number; seconds: number };

if (process.send) {
  process.once('message', (job: FloorJob) => {
    if (job.floor === 'http') serve(job.bodies);
    else {
      const matches = () => verify(job.hash, job.password);
      hashFor(matches, job).then((figures) => process.send?.(figures, () => process.exit(0)));
    }
  });
  process.once('disconnect', () => process.exit(1));
}

/** Sends the port to the parent process when it listens. */
function serve(texts: Record<string, string>): void {
  const bodies = new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
  const server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
    const body = bodies.get(request.url!)!;
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
    });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}
