import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../scripts/services.ts';
import type { FloorJob } from './floors.ts';
import type { Figures, LoadJob } from './load.ts';

/** Every process of the benchmark, and the end of each, whatever happens. */

const READY_MAX_MS = 20_000;
const STOP_MAX_MS = 10_000;
/** The same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

type Stop = () => Promise<void>;
const stops = new Set<Stop>();
let ending = false;

/** Whatever is left when the benchmark ends is ended then, the newest first. */
export function atTheEnd(stop: Stop): Stop {
  const once = async () => {
    if (stops.delete(once)) await stop();
  };
  stops.add(once);
  return once;
}

/** From here on nothing new is started: an interrupted benchmark may be about to. */
export async function stopEverything(): Promise<void> {
  ending = true;
  for (const stop of [...stops].reverse()) await stop().catch(() => {});
}

function own(child: ChildProcess, signal: NodeJS.Signals): Stop {
  // What cannot be started ends like one that fails.
  child.on('error', (error) => child.emit('exit', error.message));
  if (ending) {
    child.kill('SIGKILL');
    throw new Error('the benchmark ends');
  }
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  ended.then(() => process.off('exit', kill));
  return atTheEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = setTimeout(kill, STOP_MAX_MS);
    await ended;
    clearTimeout(timer);
  });
}

export interface ServerProcess {
  port: number;
  url: string;
  /** From the start of the process to its first good answer. */
  readySeconds: number;
  residentMegabytes(): number;
  /** Processor time since its start, all threads together. */
  cpuSeconds(): number;
  stop: Stop;
}

/** The service as people run it; its log goes where nobody reads it. */
export function startServer(
  env: Record<string, string>,
  folder: string,
  profileFolder?: string,
): Promise<ServerProcess> {
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  // As npm start has it.
  const flags = ['--max-semi-space-size=8'];
  if (profileFolder) flags.push('--cpu-prof', '--cpu-prof-dir', profileFolder);
  // Away from a `.env` that may lie in the project's folder.
  return startProcess([...flags, main], {
    env: { ...env, HOST: '127.0.0.1' },
    folder,
    ready: { path: '/readyz' },
  });
}

/** A server under this Node, told its port by the environment, from its start to its first good answer. */
export async function startProcess(
  args: readonly string[],
  options: {
    env: Record<string, string>;
    folder: string;
    ready: { path: string; headers?: Record<string, string> };
  },
): Promise<ServerProcess> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: options.folder,
    env: { PATH: process.env.PATH, ...options.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = own(child, 'SIGTERM');
  const url = `http://127.0.0.1:${port}`;
  let last = 'no answer';
  const isReady = () =>
    fetch(url + options.ready.path, { headers: options.ready.headers ?? {} }).then(
      async (response) => {
        last = await response.text();
        return response.status === 200;
      },
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the server ended before it was ready');
    if (performance.now() - startedAt > READY_MAX_MS)
      throw new Error(`the server does not get ready: ${last}`);
    await sleep(5);
  }
  return {
    port,
    url,
    readySeconds: (performance.now() - startedAt) / 1000,
    residentMegabytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
    },
    cpuSeconds() {
      // utime and stime, counted from behind the name, which may hold spaces.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    },
    stop,
  };
}

export async function runLoad(job: LoadJob): Promise<Figures> {
  return ask<Figures>('./load.ts', job);
}

export async function runArgon2(job: Omit<FloorJob & { floor: 'argon2' }, 'floor'>): Promise<Figures> {
  return ask<Figures>('./floors.ts', { floor: 'argon2', ...job } satisfies FloorJob);
}

/** Bare node:http with these bodies at these paths. */
export async function startBareHttp(bodies: Record<string, string>): Promise<{ port: number; stop: Stop }> {
  const [child, stop] = forkOwn('./floors.ts');
  const port = await reply<number>(child, { floor: 'http', bodies } satisfies FloorJob);
  return { port, stop };
}

/** What a program prints, when it ends well. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; folder?: string } = {},
): Promise<string> {
  const child = spawn(program, args, {
    cwd: options.folder,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = own(child, 'SIGKILL');
  let output = '';
  let complaint = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    complaint += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  await stop();
  if (code !== 0) throw new Error(`${program} failed: ${complaint}`);
  return output;
}

async function ask<Answer>(file: string, job: object): Promise<Answer> {
  const [child, stop] = forkOwn(file);
  try {
    return await reply<Answer>(child, job);
  } finally {
    await stop();
  }
}

function forkOwn(file: string): [ChildProcess, Stop] {
  // Its own form of JSON would make a null of a figure that is none.
  const child = fork(new URL(file, import.meta.url), { execArgv: [], serialization: 'advanced' });
  return [child, own(child, 'SIGKILL')];
}

function reply<Answer>(child: ChildProcess, job: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as Answer));
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.at(-1)} ended with ${code}`)));
    child.send(job);
  });
}
