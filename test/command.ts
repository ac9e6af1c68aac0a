import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Deskbell } from './harness.ts';

/** The command line as people call it: a process of its own. */
export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output, or standard error where that is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, whatever its shape
  json: any;
}

export const root = fileURLToPath(new URL('..', import.meta.url));
const MAIN = `${root}src/cli/main.ts`;

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  /** Another program that leads there. */
  program?: [string, ...string[]];
}

export function run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { env = {}, input = '', program = [process.execPath, MAIN] } = options;
  const [file, ...before] = program;
  const child = spawn(file, [...before, ...args], {
    // Somewhere without an .env of the developer's.
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: `${root}node_modules/.cache/node`, ...env },
    timeout: 120_000,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  // A command that wants nothing may be gone before it is written to.
  child.stdin.on('error', () => {}).end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr, json: parsed(stdout || stderr) }));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The settings that lead a command to a running server's database. */
export function settingsOf({ config }: Deskbell): Record<string, string> {
  return {
    DATA_DIR: config.dataDir,
    ...(config.databaseUrl === undefined ? {} : { DATABASE_URL: config.databaseUrl }),
    ...(config.secretKey === undefined ? {} : { SECRET_KEY: config.secretKey }),
  };
}
