import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/services.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const READY_MAX_MS = 60_000;

/** A server that is killed and started again, always at the same address. */
export interface Mortal {
  url: string;
  /** Whether it runs, as it should unless it is being killed. */
  lives(): boolean;
  /** SIGKILL; resolves when it serves again. `whileDead` runs between the two. */
  killAndRestart(whileDead?: () => Promise<unknown>): Promise<void>;
  end(): Promise<void>;
}

const answers = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(2000) })
    .then(async (reply) => (await reply.text()) !== '' && reply.ok)
    .catch(() => false);

export async function startMortal(env: Record<string, string>): Promise<Mortal> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess;
  let said = '';
  let ended = false;
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);

  async function launch(): Promise<void> {
    child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    said = '';
    ended = false;
    // Not before its last words have arrived.
    child.once('close', () => {
      ended = true;
    });
    child.stderr!.on('data', (text) => {
      said += text;
    });
    for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt; await sleep(20)) {
      if (ended) throw new Error(`the server ended by itself: ${said}`);
      if (await answers(`${url}/healthz`)) return;
    }
    throw new Error(`the server does not serve: ${said}`);
  }

  async function die(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  try {
    await launch();
  } catch (error) {
    kill();
    throw error;
  }
  return {
    url,
    lives: () => !ended,
    async killAndRestart(whileDead) {
      if (ended) throw new Error(`the server ended by itself: ${said}`);
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
