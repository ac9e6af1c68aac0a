import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { CommandCall, CommandResult } from './commandProcess.ts';
import { COMMAND_PROCESS, MAIN, QUICK_START } from './program.ts';
import type { Deskbell } from './server.ts';

export interface Run extends CommandResult {
  /** Standard output, or standard error if that is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests check results of any shape
  json: any;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND_MAX_MS = 120_000;

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
}

/** A folder without the developer's .env file. */
const cwd = tmpdir();
const environment = (env: Record<string, string>): Record<string, string> => ({
  PATH: process.env.PATH!,
  ...QUICK_START,
  ...env,
});

/** They end with this process. */
const waitingProcesses: ChildProcess[] = [];

/**
 * Runs a command in a process that runs the next one, too: a new process takes ten times as long to load the program
 * as a command takes. Calls at the same time get different processes.
 */
export async function run(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Promise<Run> {
  const child =
    waitingProcesses.pop() ?? fork(COMMAND_PROCESS, { cwd, env: environment({}), stdio: 'inherit' });
  const ended = new AbortController();
  child.ref();
  child.channel?.ref();
  child.send({ args, env: environment(env), input } satisfies CommandCall);
  const timer = setTimeout(() => child.kill(), COMMAND_MAX_MS);
  const [result] = (await Promise.race([
    once(child, 'message', ended),
    once(child, 'exit', ended).then(() => {
      throw new Error(`the process of "${args.join(' ')}" ended`);
    }),
  ]).finally(() => {
    clearTimeout(timer);
    ended.abort();
  })) as [CommandResult];
  child.unref();
  child.channel?.unref();
  waitingProcesses.push(child);
  return { ...result, json: parsed(result.stdout || result.stderr) };
}

/** Runs the program in its own process, as users do. */
export function runAsProcess(
  args: readonly string[],
  options: RunOptions & { program?: [string, ...string[]] } = {},
): Promise<Run> {
  const { env = {}, input = '', program = [process.execPath, MAIN] } = options;
  const [file, ...before] = program;
  const child = spawn(file, [...before, ...args], { cwd, env: environment(env), timeout: COMMAND_MAX_MS });
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

/** It printed only this error. */
export function assertFailure({ code, stdout, stderr }: Run, expectedCode: number, message: RegExp): void {
  assert.match(stderr, message);
  assert.equal(code, expectedCode, stderr);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /hunter2/);
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
  const { dataDir, databaseUrl, databaseDirectUrl, secretKey } = config;
  return {
    DATA_DIR: dataDir,
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    ...(databaseDirectUrl && { DATABASE_DIRECT_URL: databaseDirectUrl }),
    ...(secretKey && { SECRET_KEY: secretKey }),
  };
}
