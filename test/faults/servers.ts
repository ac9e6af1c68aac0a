import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/services.ts';

const SERVER = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const COMMAND_LINE = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** Halves the time to start, as with `npm start`. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));
const READY_MAX_MS = 60_000;

/** Of its output, the last: a run is long. */
const SAID_MAX_LENGTH = 20_000;

type Env = Record<string, string>;

/** A process that is killed and started again. */
export interface Mortal {
  /** Whether it runs, as it should unless it is being killed. */
  lives(): boolean;
  /** SIGKILL; resolves when it is at work again. `whileDead` runs between the two. */
  killAndRestart(whileDead?: () => Promise<unknown>): Promise<void>;
  end(): Promise<void>;
}

/** Always at the same address. */
export interface MortalServer extends Mortal {
  url: string;
  port: number;
}

export async function startMortal(env: Env): Promise<MortalServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const mortal = await start([SERVER], { ...env, PORT: String(port) }, () => answers(`${url}/healthz`));
  return { ...mortal, url, port };
}

/** A worker alone, as `npm run deskbell -- work` starts it. */
export const startMortalWorker = (env: Env): Promise<Mortal> =>
  start([COMMAND_LINE, 'work'], { ...env, LOG_LEVEL: 'info' }, async (said) =>
    said.includes('sending messages'),
  );

const answers = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(2000) })
    .then(async (reply) => (await reply.text()) !== '' && reply.ok)
    .catch(() => false);

async function start(args: string[], env: Env, isReady: (said: string) => Promise<boolean>): Promise<Mortal> {
  let child: ChildProcess;
  let said = '';
  let ended = false;
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);

  async function launch(): Promise<void> {
    child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    said = '';
    ended = false;
    // Not before its last words have arrived.
    child.once('close', () => {
      ended = true;
    });
    for (const output of [child.stdout!, child.stderr!]) {
      output.on('data', (text) => {
        said = (said + text).slice(-SAID_MAX_LENGTH);
      });
    }
    for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt; await sleep(20)) {
      if (ended) throw new Error(`the process ended by itself: ${said}`);
      if (await isReady(said)) return;
    }
    throw new Error(`the process is not ready: ${said}`);
  }

  async function die(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  try {
    // The first start of all may fall on a moment when nothing answers in time; later ones are what is tried.
    await launch().catch((error) => (/no host answers/.test(said) ? launch() : Promise.reject(error)));
  } catch (error) {
    kill();
    throw error;
  }
  return {
    lives: () => !ended,
    async killAndRestart(whileDead) {
      if (ended) throw new Error(`the process ended by itself: ${said}`);
      await die();
      await whileDead?.();
      await launch();
    },
    async end() {
      await die();
      process.off('exit', kill);
    },
  };
}
