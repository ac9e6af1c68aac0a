/**
 * What the service is compared with, each in a process of its own: the same bytes from bare node:http, and
 * bare argon2 with the service's own parameters, which stand in the hash.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify } from '@node-rs/argon2';
import type { Figures } from './load.ts';

export type FloorJob =
  | { floor: 'http'; bodies: Record<string, string> }
  | { floor: 'argon2'; hash: string; password: string; atOnce: number; seconds: number };

if (process.send) {
  process.once('message', (job: FloorJob) => {
    if (job.floor === 'http') serve(job.bodies);
    else hashAll(job).then((figures) => process.send?.(figures, () => process.exit(0)));
  });
  process.once('disconnect', () => process.exit(1));
}

/** Tells the port when it listens. */
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

async function hashAll({
  hash,
  password,
  atOnce,
  seconds,
}: FloorJob & { floor: 'argon2' }): Promise<Figures> {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const one = async () => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      if (!(await verify(hash, password))) throw new Error('the password does not fit');
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const perSecond = (latencies.length * 1000) / (performance.now() - begin);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
  return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99), errors: 0, requests: latencies.length };
}
