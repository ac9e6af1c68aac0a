import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { findOrInstall, freePort } from '../../../scripts/services.ts';

/** nginx and Caddy with the files in `deploy/`, on free ports, with a certificate that this process trusts. */
export interface TestProxy {
  url: string;
  /** The address without TLS. */
  plainUrl: string;
  stop(): Promise<void>;
}

export const deployFile = (path: string) =>
  fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url));
const READY_MAX_MS = 30_000;

export const findNginx = () => findOrInstall('nginx', 'nginx') ?? findOrInstall('/usr/sbin/nginx', 'nginx');
export const findCaddy = () => findOrInstall('caddy', 'caddy');

interface Change {
  from: RegExp;
  to: string;
}

/** Every change must apply: otherwise the test would not run what is in the file. */
function changed(text: string, changes: readonly Change[]): string {
  return changes.reduce((before, { from, to }) => {
    const after = before.replaceAll(new RegExp(from, `${from.flags}g`), () => to);
    assert.notEqual(after, before, `${from} is not in the file`);
    return after;
  }, text);
}

export interface ProxyOptions {
  servers: readonly [number, number];
  /** With nginx's defaults for the list of servers, instead of those in the file. */
  plainUpstream?: boolean;
}

export function startNginx(
  program: string,
  { servers: [first, second], plainUpstream = false }: ProxyOptions,
): Promise<TestProxy> {
  const changes = [
    { from: /127\.0\.0\.1:8000/, to: `127.0.0.1:${first}` },
    { from: /127\.0\.0\.1:8001/, to: `127.0.0.1:${second}` },
  ];
  const plain = [
    { from: / fail_timeout=2s/, to: '' },
    { from: /zone deskbell 64k;/, to: '' },
    { from: /proxy_next_upstream.*/, to: '' },
  ];
  return runNginx(program, plainUpstream ? [...changes, ...plain] : changes);
}

async function runNginx(program: string, changes: readonly Change[]): Promise<TestProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-nginx-'));
  const [port, plainPort] = [await freePort(), await freePort()];
  const { certificate, key } = createCertificate(folder);
  const site = changed(readFileSync(deployFile('nginx/deskbell.conf'), 'utf8'), [
    { from: /listen \[::\].*/, to: '' },
    { from: /listen 443 /, to: `listen 127.0.0.1:${port} ` },
    { from: /listen 80;/, to: `listen 127.0.0.1:${plainPort};` },
    { from: /\/etc\/ssl\/desk\.pem/, to: certificate },
    { from: /\/etc\/ssl\/desk\.key/, to: key },
    ...changes,
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const main = join(folder, 'nginx.conf');
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(join(folder, 'deskbell.conf'), site);
  writeFileSync(
    main,
    `daemon off; ${user} worker_processes 2; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')};
events {}
http { access_log off; ${paths.join(' ')} include ${join(folder, 'deskbell.conf')}; }
`,
  );
  const check = spawnSync(program, ['-t', '-p', folder, '-c', main], { encoding: 'utf8' });
  assert.equal(check.status, 0, check.stderr);
  const child = spawn(program, ['-p', folder, '-c', main], { stdio: 'ignore' });
  return untilReady(child, { folder, port, plainPort });
}

export async function startCaddy(
  program: string,
  { servers: [first, second] }: ProxyOptions,
): Promise<TestProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-caddy-'));
  const [port, plainPort] = [await freePort(), await freePort()];
  const { certificate, key } = createCertificate(folder);
  const file = join(folder, 'Caddyfile');
  const site = changed(readFileSync(deployFile('caddy/Caddyfile'), 'utf8'), [
    { from: /admin off/, to: `admin off\n\thttp_port ${plainPort}\n\thttps_port ${port}` },
    { from: /^desk\.shop\.example \{/m, to: `localhost {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}` },
    { from: /127\.0\.0\.1:8000/, to: `127.0.0.1:${first}` },
    { from: /127\.0\.0\.1:8001/, to: `127.0.0.1:${second}` },
  ]);
  writeFileSync(file, site);
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['--config', file, '--adapter', 'caddyfile'];
  const check = spawnSync(program, ['validate', ...args], { encoding: 'utf8', env });
  assert.equal(check.status, 0, check.stderr);
  const child = spawn(program, ['run', ...args], { env, stdio: 'ignore' });
  return untilReady(child, { folder, port, plainPort });
}

interface Started {
  folder: string;
  port: number;
  plainPort: number;
}

async function untilReady(child: ChildProcess, { folder, port, plainPort }: Started): Promise<TestProxy> {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const isEnded = () => child.exitCode !== null || child.signalCode !== null;
  const proxy: TestProxy = {
    url: `https://localhost:${port}`,
    plainUrl: `http://localhost:${plainPort}`,
    async stop() {
      if (!isEnded()) {
        child.kill();
        await once(child, 'exit');
      }
      process.off('exit', kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  for (const giveUpAt = Date.now() + READY_MAX_MS; Date.now() < giveUpAt && !isEnded(); await sleep(20)) {
    if (await accepts(port)) return proxy;
  }
  await proxy.stop();
  throw new Error(`${child.spawnfile} is not ready`);
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}

/** For localhost. From now on this process trusts it. */
function createCertificate(folder: string): { certificate: string; key: string } {
  mkdirSync(folder, { recursive: true });
  const certificate = join(folder, 'desk.pem');
  const key = join(folder, 'desk.key');
  const args = [...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', [...args, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificate, 'utf8')]);
  return { certificate, key };
}
