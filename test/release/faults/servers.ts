import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { type Program, run, SERVE } from '../../support/process.ts';

const READY_MAX_MS = 60_000;

/** A server that can be killed and restarted. It keeps its address. */
export interface KillableServer {
  url: string;
  port: number;
  /** False if it has stopped without being killed. */
  isRunning(): boolean;
  /** Sends SIGKILL; resolves when the server is ready again. `whileDown` runs between the two. */
  killAndRestart(whileDown?: () => Promise<unknown>): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface StartOptions {
  port?: number;
  /** The command line of another version. */
  program?: string;
}

export async function startKillableServer(
  env: Record<string, string>,
  { port: givenPort, program }: StartOptions = {},
): Promise<KillableServer> {
  const port = givenPort ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const command = program === undefined ? SERVE : [process.execPath, program, 'serve'];
  let server: Program;
  let ended = false;

  async function launch(): Promise<void> {
    // The clients sign in far more often than a person.
    const started = run({ SESSIONS_PER_USER: '10000', ...env, PORT: String(port) }, command);
    server = started;
    ended = false;
    void started.ended.then(() => {
      ended = true;
    });
    const output = () => started.stdout() + started.stderr();
    for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt; await sleep(20)) {
      if (ended) throw new Error(`the server stopped unexpectedly: ${output()}`);
      if (await isReady(url)) return;
    }
    await started.stop('SIGKILL');
    throw new Error(`the server is not ready: ${output()}`);
  }

  await launch();
  return {
    url,
    port,
    isRunning: () => !ended,
    async killAndRestart(whileDown) {
      if (ended) throw new Error(`the server stopped unexpectedly: ${server.stdout()}${server.stderr()}`);
      await server.stop('SIGKILL');
      await whileDown?.();
      await launch();
    },
    async stop(signal = 'SIGKILL') {
      await server.stop(signal);
    },
  };
}

const isReady = (url: string) =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
    async (reply) => (await reply.text()) !== '' && reply.ok,
    () => false,
  );
