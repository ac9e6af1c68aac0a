import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { installDebianPackage } from './apt.ts';

/** Real PostgreSQL and Redis servers for tests and benchmarks, in temporary folders. They stop with this process. */

export interface Service {
  url: string;
  /** For fault tests: the process, and functions to stop and restart it on the same data. */
  readonly process: ChildProcess;
  halt(signal?: NodeJS.Signals): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

const DEBIAN_POSTGRES = '/usr/lib/postgresql';

/** The path of a program, if it is installed. Debian keeps PostgreSQL's programs off the PATH. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  if (existsSync(DEBIAN_POSTGRES)) {
    const versions = readdirSync(DEBIAN_POSTGRES).sort((a, b) => Number(b) - Number(a));
    folders.push(...versions.map((version) => join(DEBIAN_POSTGRES, version, 'bin')));
  }
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Like `findProgram`, but as root on Debian it installs the missing package. */
export function findOrInstall(name: string, debianPackage: string): string | undefined {
  const found = findProgram(name);
  if (found || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return found;
  console.log(`Installing ${debianPackage} …`);
  const problem = installDebianPackage(debianPackage);
  if (problem) console.error(problem);
  return findProgram(name);
}

/** It draws for no screen, which takes half of Chromium's processor time. */
const HEADLESS = 'chromium-headless-shell';
export const findBrowser = () => findProgram(HEADLESS) ?? findProgram('chromium');
export const findOrInstallBrowser = () => findOrInstall(HEADLESS, HEADLESS) ?? findBrowser();

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string, name: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  const name = spawnSync('id', ['postgres']).status === 0 ? 'postgres' : 'nobody';
  return { uid: id('-u', name), gid: id('-g', name) };
}

interface PostgresOptions {
  durable: boolean;
  port?: number;
  /** In addition to the settings that every server here has. */
  settings?: Record<string, string>;
  /** The address of the primary, if this server is a standby. */
  standbyOf?: string;
  /** The folder of a base backup to recover from, with the settings of the recovery. */
  recoverFrom?: string;
}

export async function startPostgres(program: string, options: PostgresOptions): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-postgres-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const [initProgram, ...initArgs] =
    options.standbyOf === undefined
      ? ['initdb', '-U', 'deskbell', '--auth=trust', '-E', 'UTF8', '--no-locale', '--no-sync']
      : ['pg_basebackup', '-d', options.standbyOf, '-R', '--checkpoint=fast', '--no-sync'];
  if (options.recoverFrom === undefined) {
    // In the real folder of the program: a link to it may be in a folder without the other programs.
    await promisify(execFile)(join(realpathSync(program), '..', initProgram!), ['-D', data, ...initArgs], {
      ...user,
      cwd: folder,
    });
  } else {
    cpSync(options.recoverFrom, data, { recursive: true });
    // PostgreSQL refuses a folder that others can read.
    chmodSync(data, 0o700);
    writeFileSync(join(data, 'recovery.signal'), '');
    if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, data]);
  }
  const port = options.port ?? (await freePort());
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: 200,
    fsync: options.durable ? 'on' : 'off',
    log_min_messages: 'fatal',
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const launch = () => spawn(program, ['-D', data, ...args], { ...user, cwd: folder, stdio: 'ignore' });
  const url = `postgres://deskbell@127.0.0.1:${port}/postgres`;
  return manage(launch, { signal: 'SIGINT', folder, url, isReady: () => acceptsConnections(url) });
}

/**
 * PgBouncer in transaction mode, in front of a PostgreSQL of ours, otherwise with its default settings. It is in the
 * `url`'s place: the same user and databases at another port.
 */
export async function startPgBouncer(
  program: string,
  postgresUrl: string,
  settings: Record<string, string> = {},
): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-pgbouncer-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const { port: postgresPort } = new URL(postgresUrl);
  const port = await freePort();
  const all = { listen_addr: '127.0.0.1', listen_port: port, pool_mode: 'transaction', unix_socket_dir: '' };
  const lines = Object.entries({ ...all, auth_type: 'trust', auth_file: join(folder, 'users'), ...settings });
  writeFileSync(join(folder, 'users'), '"deskbell" ""\n');
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=127.0.0.1 port=${postgresPort}`,
      '[pgbouncer]',
      ...lines.map((line) => line.join('=')),
    ].join('\n'),
  );
  const launch = () =>
    spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { ...user, cwd: folder, stdio: 'ignore' });
  const url = new URL(postgresUrl);
  url.port = String(port);
  return manage(launch, { signal: 'SIGINT', folder, url: url.href, isReady: () => listens(port) });
}

export async function startRedis(program: string): Promise<Service> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-redis-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const launch = () => spawn(program, args, { stdio: 'ignore' });
  const url = `redis://127.0.0.1:${port}`;
  return manage(launch, { signal: 'SIGKILL', folder, url, isReady: () => listens(port) });
}

async function manage(
  launch: () => ChildProcess,
  options: { signal: NodeJS.Signals; folder: string; url: string; isReady: () => Promise<boolean> },
): Promise<Service> {
  const { signal, folder, url, isReady } = options;
  let child = launch();
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const service: Service = {
    url,
    get process() {
      return child;
    },
    async halt(haltSignal = signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(haltSignal);
      await once(child, 'exit');
    },
    async resume() {
      child = launch();
      await waitUntilReady(child, isReady);
    },
    async stop() {
      await service.halt();
      process.off('exit', kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await waitUntilReady(child, isReady);
  return service;
}

const READY_MAX_MS = 60_000;

async function waitUntilReady(child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt; await sleep(20)) {
    if (child.exitCode !== null) break;
    if (await isReady()) return;
  }
  throw new Error(`${child.spawnfile} is not ready`);
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}

/** PostgreSQL listens a moment before it accepts connections. */
async function acceptsConnections(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  const connected = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => {});
  return connected;
}
