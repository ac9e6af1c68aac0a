import { createServer } from 'node:net';

/** Why nobody could listen there now, by the system's code, or nothing. */
export function listeningProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}
