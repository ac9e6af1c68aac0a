import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The program as people start it: a process of its own, its settings, its output, its end. */
export interface Program {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** The first match in what it prints; fails if the program ends, or stays silent for too long. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<End>;
  /** Sends a signal and waits for the end. */
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

export const root = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(root, 'src', 'main.ts');
const COMPILED = join(root, 'node_modules', '.cache', 'node');
const SAYS_MAX_MS = 90_000;

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
// Whatever a failed test leaves behind ends with its file.
after(cleanUp);

export const newFolder = () => mkdtempSync(join(scratch, 'data-'));

/** A leader of its own group takes its children along. */
function kill(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Runs the program with these settings and no others, away from any `.env`. */
export function run(settings: Settings, command = [process.execPath, MAIN], cwd = scratch): Program {
  const [file, ...args] = command;
  // The cache halves the time to start; a test file starts dozens.
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...settings };
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
    async says(pattern) {
      for (const giveUpAt = Date.now() + SAYS_MAX_MS; Date.now() < giveUpAt && !over; await sleep(10)) {
        const found = pattern.exec(stdout);
        if (found) return found;
      }
      return assert.fail(`the program did not say ${pattern}:\n${stdout}${stderr}`);
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts the server and waits until it serves. In production there is no banner, but a line in the log. */
export async function serve(settings: Settings, command?: string[], cwd?: string): Promise<Serving> {
  const program = run({ PORT: '0', ...settings }, command, cwd);
  const found = await program.says(/(?:API docs +|listening at )(http:\/\/[^/"\s]+:(\d+))/);
  return { ...program, url: found[1]!, port: Number(found[2]) };
}

/** A connection that sends what it is told to, and nothing else. */
export interface Wire {
  socket: Socket;
  received(): string;
  /** Resolves when the other side has ended the connection, with everything that came. */
  closed: Promise<string>;
  until(pattern: RegExp): Promise<string>;
}

export async function openWire(port: number, bytes = ''): Promise<Wire> {
  // Half open: a server that only says goodbye and waits for an answer would wait for ever.
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
  // A reset is an end as well.
  socket.on('error', () => {});
  if (bytes) socket.write(bytes);
  return {
    socket,
    received: () => received,
    closed,
    async until(pattern) {
      while (!pattern.test(received)) {
        assert.ok(!socket.destroyed, `the connection ended before ${pattern}: ${received}`);
        await sleep(5);
      }
      return received;
    },
  };
}

/** In one piece: the server sees them in one turn, and looks for what they need at once. */
export async function askTogether(
  { url }: { url: string },
  requests: readonly { token: string; line: string; body?: object }[],
): Promise<string[]> {
  const text = requests.map(({ token, line, body }, n) => {
    const json = body === undefined ? '' : JSON.stringify(body);
    return [
      `${line} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      `X-Request-Id: asker-${n}`,
      ...(json ? ['Content-Type: application/json', `Content-Length: ${json.length}`] : []),
      `Connection: ${n === requests.length - 1 ? 'close' : 'keep-alive'}`,
      '',
      json,
    ].join('\r\n');
  });
  const wire = await openWire(Number(new URL(url).port), text.join(''));
  const replies = (await wire.closed).split(/(?=HTTP\/1\.1 )/);
  wire.socket.destroy();
  assert.equal(replies.length, requests.length);
  for (const [n, reply] of replies.entries()) assert.match(reply, new RegExp(`x-request-id: asker-${n}\\r`));
  return replies;
}
