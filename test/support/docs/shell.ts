import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, freePort } from '../../../scripts/services.ts';
import { root } from '../process.ts';

/** What a fresh clone needs to run `npm start` and `npm run deskbell`. */
const CLONED = [
  ...['package.json', 'package-lock.json', 'node_modules', 'bin', 'src', 'scripts', 'migrations'],
  ...['dashboard', 'openapi.json'],
];
/** Samples build it, which writes files. */
const CLIENT = 'clients/typescript';
/** Without `-f`, curl treats every response as a success. */
const PRELUDE = `set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
set -a
[ ! -f .variables ] || . ./.variables
`;
const READY_MAX_MS = 90_000;

export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A sample for Node, running. */
interface Script {
  child: ChildProcess;
  stdout(): string;
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<Result>;
}

/** A folder like a fresh clone and a shell in it. Variables that one sample sets are there for the next one. */
export type Shell = Awaited<ReturnType<typeof openShell>>;

/** `commands` are functions instead of programs that cannot run here. */
export async function openShell(settings: Record<string, string> = {}, commands = '') {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-docs-'));
  for (const name of CLONED) symlinkSync(join(root, name), join(folder, name));
  cpSync(join(root, CLIENT), join(folder, CLIENT), {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist)$|\.tgz$/.test(path),
  });
  const port = await freePort();
  const env = {
    HOME: folder,
    PATH: [join(root, 'node_modules/.bin'), process.env.PATH, ...postgresTools()].join(delimiter),
    PORT: String(port),
    ...npmSettings(),
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    ...settings,
  };
  const url = `http://127.0.0.1:${port}`;
  const running = new Set<ChildProcess>();
  let server: Script | undefined;

  function start(file: string, args: string[], more: Record<string, string> = {}, input = ''): Script {
    // Its own process group, so that everything a failed sample started can be stopped.
    const child = spawn(file, args, { cwd: folder, env: { ...env, ...more }, detached: true });
    running.add(child);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    // A script that reads no input may have ended already.
    child.stdin.on('error', () => {}).end(input);
    const ended = once(child, 'close').then(([code]) => {
      running.delete(child);
      return { code, stdout, stderr };
    });
    return {
      child,
      stdout: () => stdout,
      ended,
      async prints(pattern) {
        for (const deadline = Date.now() + READY_MAX_MS; Date.now() < deadline; await sleep(20)) {
          const found = pattern.exec(stdout);
          if (found) return found;
          if (child.exitCode !== null) break;
        }
        return assert.fail(`it did not print ${pattern}:\n${stdout}${stderr}`);
      },
    };
  }
  const bash = (script: string, input?: string) =>
    start('bash', ['-c', commands + PRELUDE + script], {}, input);

  async function stop({ child, ended }: Script): Promise<Result> {
    // Only to npm, as a service manager does: npm forwards it.
    child.kill('SIGTERM');
    return ended;
  }
  async function stopServer(): Promise<void> {
    if (server) await stop(server);
    server = undefined;
  }

  return {
    folder,
    url,
    run: (script: string, input?: string) =>
      bash(`${script}\n{ export -p; declare -f deskbell || :; } > '${folder}/.variables'\n`, input).ended,
    /** Removes the variables. */
    forget: () => rmSync(join(folder, '.variables'), { force: true }),
    node: (script: string, more: Record<string, string>) =>
      start(process.execPath, ['--input-type=module', '--eval', script], more),
    /** Like `node`, from a file with this path in the folder. */
    nodeFile(path: string, script: string, more: Record<string, string>) {
      writeFileSync(join(folder, path), script);
      return start(process.execPath, [path], more);
    },
    /** Runs in the background until the server responds; an earlier server is stopped first. */
    async startServer(script: string) {
      await stopServer();
      server = bash(`exec ${script}`);
      const isReady = () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      for (const deadline = Date.now() + READY_MAX_MS; !(await isReady()); await sleep(50)) {
        if (server.child.exitCode === null && Date.now() < deadline) continue;
        const { stdout, stderr } = await stop(server);
        assert.fail(`the server did not start:\n${stdout}${stderr}`);
      }
    },
    stopServer,
    /** Runs until its first line in the log, then stops it. It must exit with 0. */
    async startAndStop(script: string) {
      const program = bash(`exec ${script}`);
      await program.prints(/^\{.*\}$/m);
      const { code, stderr } = await stop(program);
      assert.equal(code, 0, stderr);
    },
    async close() {
      // Kill it, which is faster. Another test covers graceful shutdown.
      for (const child of running) process.kill(-child.pid!, 'SIGKILL');
      await server?.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** How npm reaches its registry here. It looks in the home folder, which is another one for the samples. */
function npmSettings(): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  return {
    npm_config_userconfig: join(homedir(), '.npmrc'),
    npm_config_cache: join(homedir(), '.npm'),
    npm_config_prefer_offline: 'true',
    ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }),
  };
}

/** Debian keeps them off the PATH. */
function postgresTools(): string[] {
  const server = findProgram('postgres');
  return server && existsSync(server) ? [dirname(server)] : [];
}
