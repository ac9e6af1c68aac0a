import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../src/cli/program.ts';
import type { Deskbell } from './harness.ts';

/** Runs the command line in its own process, as users do. */
export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output, or standard error if that is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests check results of any shape
  json: any;
}

export const root = fileURLToPath(new URL('..', import.meta.url));
const MAIN = `${root}src/cli/main.ts`;

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  /** Another program that starts it. */
  program?: [string, ...string[]];
}

export function run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { env = {}, input = '', program = [process.execPath, MAIN] } = options;
  const [file, ...before] = program;
  const child = spawn(file, [...before, ...args], {
    // A folder without the developer's .env file.
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
  // A command that reads no input may exit before we write to it.
  child.stdin.on('error', () => {}).end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr, json: parsed(stdout || stderr) }));
  });
}

/**
 * Runs the command line in this process, which takes a hundredth of the time. Only for help and wrong usage: such a
 * call reads no settings and no input.
 */
export async function runHere(args: readonly string[]): Promise<Run> {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(args, {
    async print(text) {
      stdout += `${text}\n`;
    },
    printError(text) {
      stderr += `${text}\n`;
    },
    // A call that should have been refused finds no database.
    loadSettings() {
      delete process.env.DATABASE_URL;
      process.env.DATA_DIR = '/dev/null';
    },
  });
  return { code, stdout, stderr, json: parsed(stdout || stderr) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The settings for a command that uses a running server's database. */
export function settingsOf({ config }: Deskbell): Record<string, string> {
  return {
    DATA_DIR: config.dataDir,
    ...(config.databaseUrl === undefined ? {} : { DATABASE_URL: config.databaseUrl }),
    ...(config.secretKey === undefined ? {} : { SECRET_KEY: config.secretKey }),
  };
}
