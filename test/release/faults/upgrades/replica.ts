import { setTimeout as sleep } from 'node:timers/promises';
import { run, SERVE } from '../../../support/process.ts';

/** A server of some version on a port of its own. */
export interface Replica {
  port: number;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Resolves when it is ready, so that a load balancer may use it. */
export async function startReplica(
  env: Record<string, string>,
  port: number,
  program?: string,
): Promise<Replica> {
  const command = program === undefined ? SERVE : [process.execPath, program, 'serve'];
  const server = run({ ...env, PORT: String(port) }, command);
  let ended = false;
  void server.ended.then(() => {
    ended = true;
  });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      async (reply) => (await reply.text()) !== '' && reply.ok,
      () => false,
    );
  while (!(await isReady())) {
    if (ended) throw new Error(`the server did not start: ${server.stdout()}${server.stderr()}`);
    await sleep(20);
  }
  return {
    port,
    async stop() {
      await server.stop('SIGTERM');
    },
    async kill() {
      await server.stop('SIGKILL');
    },
  };
}
