import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../scripts/services.ts';
import type { FloorJob } from './floors.ts';
import type { Figures, LoadJob } from './load.ts';

/** All processes of the benchmark. Each is stopped at the end, even after an error. */

const READY_MAX_MS = 20_000;
const STOP_MAX_MS = 10_000;
/** The same on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

type Stop = () => Promise<void>;
const stops = new Set<Stop>();
let stopping = false;

/** Registers a clean-up for the end of the benchmark. The newest runs first. */
export function onExit(stop: Stop): Stop {
  const once = async () => {
    if (stops.delete(once)) await stop();
  };
  stops.add(once);
  return once;
}

/** Runs all clean-ups. Also prevents new processes, because an interrupted benchmark may be about to start one. */
export async function stopAll(): Promise<void> {
  stopping = true;
  for (const stop of [...stops].reverse()) await stop().catch(() => {});
}

function manage(child: ChildProcess, signal: NodeJS.Signals): Stop {
  // A process that cannot be started counts as one that failed.
  child.on('error', (error) => child.emit('exit', error.message));
  if (stopping) {
    child.kill('SIGKILL');
    throw new Error('the benchmark is stopping');
  }
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  ended.then(() => process.off('exit', kill));
  return onExit(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = setTimeout(kill, STOP_MAX_MS);
    await ended;
    clearTimeout(timer);
  });
}

export interface ServerProcess {
  pid: number;
  port: number;
  url: string;
  /** From the start of the process to its first successful answer. */
  readySeconds: number;
  residentMegabytes(): number;
  /** CPU time of all threads since its start. */
  cpuSeconds(): number;
  stop: Stop;
}

/** Starts the service as users run it; its log is discarded. */
export function startServer(
  env: Record<string, string>,
  folder: string,
  profileFolder?: string,
): Promise<ServerProcess> {
  const main = new URL('../src/cli/main.ts', import.meta.url).pathname;
  // As with npm start.
  const flags = ['--max-semi-space-size=8'];
  if (profileFolder) flags.push('--cpu-prof', '--cpu-prof-dir', profileFolder);
  // In another folder, so that a `.env` of the project is not read.
  return startProcess([...flags, main, 'serve'], {
    env: { ...env, HOST: '127.0.0.1' },
    folder,
    ready: { path: '/readyz' },
  });
}

/** Starts a server with this Node. It gets its port in the environment. Resolves when it answers. */
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
  const stop = manage(child, 'SIGTERM');
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
    if (child.exitCode !== null) throw new Error('the server stopped before it was ready');
    if (performance.now() - startedAt > READY_MAX_MS)
      throw new Error(`the server did not become ready: ${last}`);
    await sleep(5);
  }
  return {
    pid: child.pid!,
    port,
    url,
    readySeconds: (performance.now() - startedAt) / 1000,
    residentMegabytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
    },
    cpuSeconds() {
      // utime and stime, counted from after the name, which may contain spaces.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    },
    stop,
  };
}

export async function runLoad(job: LoadJob): Promise<Figures> {
  return runJob<Figures>('./load.ts', job);
}

export async function runArgon2(job: Omit<FloorJob & { floor: 'argon2' }, 'floor'>): Promise<Figures> {
  return runJob<Figures>('./floors.ts', { floor: 'argon2', ...job } satisfies FloorJob);
}

/** Plain node:http with these bodies at these paths. */
export async function startBareHttp(bodies: Record<string, string>): Promise<{ port: number; stop: Stop }> {
  const [child, stop] = forkManaged('./floors.ts');
  const port = await reply<number>(child, { floor: 'http', bodies } satisfies FloorJob);
  return { port, stop };
}

/** Runs a program and returns its output. */
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
  const stop = manage(child, 'SIGKILL');
  let output = '';
  let errorOutput = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    errorOutput += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  await stop();
  if (code !== 0) throw new Error(`${program} failed: ${errorOutput}`);
  return output;
}

async function runJob<Answer>(file: string, job: object): Promise<Answer> {
  const [child, stop] = forkManaged(file);
  try {
    return await reply<Answer>(child, job);
  } finally {
    await stop();
  }
}

function forkManaged(file: string): [ChildProcess, Stop] {
  // The default JSON serialization would turn NaN into null.
  const child = fork(new URL(file, import.meta.url), { execArgv: [], serialization: 'advanced' });
  return [child, manage(child, 'SIGKILL')];
}

function reply<Answer>(child: ChildProcess, job: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as Answer));
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.at(-1)} stopped with ${code}`)));
    child.send(job);
  });
}
