import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAIN, QUICK_START } from './program.ts';

/** The program in its own process, as users start it. */
export interface Program {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Waits for this output and returns the first match. Fails if the program ends or takes too long. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<End>;
  /** Sends a signal and waits until the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<End>;
}

interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Serving extends Program {
  url: string;
  port: number;
}

export type Settings = Record<string, string>;

export const root = fileURLToPath(new URL('../..', import.meta.url));
/** What `npm start` runs. */
export const SERVE = [process.execPath, MAIN, 'serve'];
const OUTPUT_MAX_MS = 90_000;

const scratch = mkdtempSync(join(tmpdir(), 'deskbell-run-'));
const running = new Set<ChildProcess>();
const killAll = () => {
  for (const child of running) kill(child);
};
const cleanUp = () => {
  killAll();
  rmSync(scratch, { recursive: true, force: true });
};
process.once('exit', cleanUp);
// Stops the processes that a failed test leaves running.
after(cleanUp);

export const newFolder = () => mkdtempSync(join(scratch, 'data-'));

/** Kills the whole process group, including child processes. */
function kill(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/** Runs the program with only these settings, in a folder without an `.env` file. */
export function run(settings: Settings, command = SERVE, cwd = scratch): Program {
  const [file, ...args] = command;
  const env = { PATH: process.env.PATH, ...QUICK_START, ...settings };
  const child = spawn(file!, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  let over = false;
  const ended = new Promise<End>((resolve) => {
    child.once('close', (code, signal) => {
      over = true;
      running.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async waitForOutput(pattern) {
      for (const giveUpAt = Date.now() + OUTPUT_MAX_MS; Date.now() < giveUpAt && !over; await sleep(10)) {
        const found = pattern.exec(stdout);
        if (found) return found;
      }
      return assert.fail(`the program did not print ${pattern}:\n${stdout}${stderr}`);
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts the server and waits until it listens. In production it prints a log line instead of the banner. */
export async function serve(settings: Settings, command?: string[], cwd?: string): Promise<Serving> {
  // Test clients sign in far more often than a person, and share the machine with other tests.
  const usual = { PORT: '0', SESSIONS_PER_USER: '10000', OVERLOAD_DELAY_MS: '0', DRAIN_SECONDS: '0' };
  const program = run({ ...usual, ...settings }, command, cwd);
  const found = await program.waitForOutput(/(?:API docs +|listening at )(http:\/\/[^/"\s]+:(\d+))/);
  return { ...program, url: found[1]!, port: Number(found[2]) };
}

/** A TCP connection that sends only the bytes of the test. */
export interface Connection {
  socket: Socket;
  received(): string;
  /** Resolves with everything that was received when the other side has closed the connection. */
  closed: Promise<string>;
  until(pattern: RegExp): Promise<string>;
}

const RESPONSE_MAX_MS = 60_000;

export async function openConnection(port: number, bytes = ''): Promise<Connection> {
  // Half open: a server that waits until we also close the connection would wait forever.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.setEncoding('utf8').on('data', (text) => {
    received += text;
  });
  const closed = new Promise<string>((resolve) => {
    socket.once('end', () => resolve(received));
    socket.once('close', () => resolve(received));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  // A reset also ends the connection.
  socket.on('error', () => {});
  if (bytes) socket.write(bytes);
  return {
    socket,
    received: () => received,
    closed,
    async until(pattern) {
      const giveUpAt = performance.now() + RESPONSE_MAX_MS;
      while (!pattern.test(received)) {
        assert.ok(!socket.destroyed, `the connection ended before ${pattern}: ${received}`);
        assert.ok(performance.now() < giveUpAt, `${pattern} did not come, only: ${received}`);
        await sleep(5);
      }
      return received;
    },
  };
}

/** Sends all requests in one piece, so that the server processes them in the same tick. */
export async function sendPipelined(
  { url }: { url: string },
  requests: readonly { token: string; line: string; body?: object }[],
): Promise<string[]> {
  const text = requests.map(({ token, line, body }, n) => {
    const json = body === undefined ? '' : JSON.stringify(body);
    return [
      `${line} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      `X-Request-Id: asker-${n}`,
      ...(json ? ['Content-Type: application/json', `Content-Length: ${json.length}`] : []),
      `Connection: ${n === requests.length - 1 ? 'close' : 'keep-alive'}`,
      '',
      json,
    ].join('\r\n');
  });
  const connection = await openConnection(Number(new URL(url).port), text.join(''));
  const replies = (await connection.closed).split(/(?=HTTP\/1\.1 )/);
  connection.socket.destroy();
  assert.equal(replies.length, requests.length);
  for (const [n, reply] of replies.entries()) assert.match(reply, new RegExp(`x-request-id: asker-${n}\\r`));
  return replies;
}
