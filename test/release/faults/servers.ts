import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { MAIN, QUICK_START } from '../../support/program.ts';

const READY_MAX_MS = 60_000;

/** Only the end of the output is kept, because a run is long. */
const OUTPUT_MAX_LENGTH = 20_000;

type Env = Record<string, string>;

/** A process that can be killed and restarted. */
export interface KillableProcess {
  /** False if it has stopped without being killed. */
  isRunning(): boolean;
  /** Sends SIGKILL; resolves when the process is ready again. `whileDown` runs between the two. */
  killAndRestart(whileDown?: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

/** It keeps its address. */
export interface KillableServer extends KillableProcess {
  url: string;
  port: number;
}

export async function startKillableServer(env: Env): Promise<KillableServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await start([MAIN, 'serve'], { ...env, PORT: String(port) }, () =>
    isHealthy(`${url}/healthz`),
  );
  return { ...server, url, port };
}

/** Only a worker, as `npm run deskbell -- work` starts it. */
export const startKillableWorker = (env: Env): Promise<KillableProcess> =>
  start([MAIN, 'work'], { ...env, LOG_LEVEL: 'info' }, async (output) => output.includes('sending messages'));

const isHealthy = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(2000) })
    .then(async (reply) => (await reply.text()) !== '' && reply.ok)
    .catch(() => false);

async function start(
  args: string[],
  env: Env,
  isReady: (output: string) => Promise<boolean>,
): Promise<KillableProcess> {
  let child: ChildProcess;
  let output = '';
  let ended = false;
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);

  async function launch(): Promise<void> {
    child = spawn(process.execPath, args, {
      // The clients sign in far more often than a person.
      env: { PATH: process.env.PATH, ...QUICK_START, SESSIONS_PER_USER: '10000', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    output = '';
    ended = false;
    // On 'close', not 'exit': by then all output has arrived.
    child.once('close', () => {
      ended = true;
    });
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (text) => {
        output = (output + text).slice(-OUTPUT_MAX_LENGTH);
      });
    }
    for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt; await sleep(20)) {
      if (ended) throw new Error(`the process stopped unexpectedly: ${output}`);
      if (await isReady(output)) return;
    }
    throw new Error(`the process is not ready: ${output}`);
  }

  async function kill9(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  try {
    // The very first start may hit a moment when the database is too slow. Only later starts are under test.
    await launch().catch((error) => (/no host isHealthy/.test(output) ? launch() : Promise.reject(error)));
  } catch (error) {
    kill();
    throw error;
  }
  return {
    isRunning: () => !ended,
    async killAndRestart(whileDown) {
      if (ended) throw new Error(`the process stopped unexpectedly: ${output}`);
      await kill9();
      await whileDown?.();
      await launch();
    },
    async stop() {
      await kill9();
      process.off('exit', kill);
    },
  };
}
