import { createServer } from 'node:net';

/** The system's error code if this address cannot be used at the moment, otherwise undefined. */
export function listeningProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}
