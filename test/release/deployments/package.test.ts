import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, globSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { freePort } from '../../../scripts/services.ts';
import { runAsProcess } from '../../support/command.ts';
import {
  createDemoDatabase,
  createTestDatabase,
  engines,
  type TestDatabase,
} from '../../support/databases.ts';
import { type InstalledPackage, installPackage, isRoot, NOBODY } from '../../support/installedPackage.ts';
import { ABOUT } from '../../support/mcpClients.ts';
import { findNode } from '../../support/packedClient.ts';
import { root, run, type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { commandOf, installFilter } from '../deploy/systemd.ts';

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
  it(`has at most ${SIZE_MAX_MB} MB with its dependencies`, (t) => {
    const paths = globSync('**/*', { cwd: installed.prefix });
    const bytes = paths.reduce((sum, path) => sum + lstatSync(join(installed.prefix, path)).size, 0);
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB in ${paths.length} files and folders`);
    assert.ok(bytes > 1e6 && bytes < SIZE_MAX_MB * 1e6, `${bytes} bytes`);
  });

  it('has no TypeScript, no tests and no development tools', () => {
    const files = globSync('**/*', { cwd: installed.files });
    assert.ok(files.includes('lib/cli.js') && files.includes('migrations/0001_foundation.sql'));
    assert.deepEqual(
      files.filter((file) => /(?<!\.d)\.[cm]?tsx?$|\.test\.|\.map$|(^|\/)\.built-from$/.test(file)),
      [],
    );
    const { devDependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    );
    const packages = globSync('node_modules/{[!@]*,@*/*}', { cwd: installed.files });
    for (const name of Object.keys({ ...devDependencies, ...optionalDependencies })) {
      assert.ok(!packages.includes(`node_modules/${name}`), name);
    }
  });

  it('names exact versions, and no registry', () => {
    const { version, private: isPrivate, devDependencies, ...own } = JSON.parse(read('package.json'));
    assert.equal(version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
    assert.deepEqual([isPrivate, devDependencies, own.engines], [undefined, undefined, { node: '>=24' }]);
    for (const range of Object.values(own.dependencies)) assert.match(String(range), /^\d+\.\d+\.\d+$/);
    assert.doesNotMatch(read('npm-shrinkwrap.json'), /"resolved"|https?:/);
  });

  it('has the licence of every package in its code, and what to do before an upgrade', () => {
    const licences = read('THIRD_PARTY_LICENCES.md');
    for (const name of ['fastify', 'pg', 'pino', 'libphonenumber-js', '@modelcontextprotocol/server']) {
      assert.match(licences, new RegExp(`^## ${name} \\d`, 'm'));
    }
    assert.match(read('UPGRADING.md'), /^## \S+\n\n- /m);
    assert.match(read('docs/production.md'), /^deskbell merchant add /m);
    assert.doesNotMatch(read('docs/production.md'), /npm run deskbell|npm start/);
    assert.doesNotMatch(read('.env.example'), /npm run/);
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
  });

  it('prints the OpenAPI document that the source describes, and has it as a file', async () => {
    const { stdout } = await deskbell(['openapi']);
    assert.equal(stdout, readFileSync(join(root, 'openapi.json'), 'utf8'));
    assert.equal(stdout, read('openapi.json'));
    assert.equal((await deskbell(['openapi', '--write'])).code, 2);
  });

  it('parses a large body in its own thread', async () => {
    const thread = new Worker(pathToFileURL(join(installed.files, 'lib/bodyThread.js')), {
      workerData: Buffer.from('{"entry":[]}'),
    });
    const parsed = await new Promise((resolve, reject) =>
      thread.once('message', resolve).once('error', reject),
    );
    assert.deepEqual(parsed, []);
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
  const get = (path: string) => fetch(server.url + path, { headers: { 'accept-encoding': 'gzip, br' } });

  it('serves the dashboard, compressed, and the documentation', async () => {
    const page = await get('/');
    const html = await page.text();
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(html)!;
    const asset = await get(script!);
    assert.deepEqual([page.status, asset.status, asset.headers.get('content-encoding')], [200, 200, 'br']);
    for (const path of ['/docs', '/docs/scalar.js', '/docs/assistant.md', '/openapi.json', '/llms.txt']) {
      const { status } = await get(path);
      assert.equal(status, 200, path);
    }
    assert.match(await (await get('/docs/scalar.js')).text(), /createApiReference/);
    assert.match(await (await get('/docs/assistant.md')).text(), /\bdeskbell key add /);
  });

  it('signs people in, and takes a question and its answer', async () => {
    const signedIn = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    const token = signedIn.json.access_token;
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    const path = raised.headers.get('location')!;
    const answered = await call(server.url, 'POST', `${path}/answer`, { token, body: { answer: 'Yes.' } });
    assert.deepEqual([signedIn.status, raised.status, answered.status], [200, 200, 200], answered.text);
    assert.equal((await call(server.url, 'GET', path, { token })).json.status, 'answered');
  });

  it('has a command line for the same data, and an MCP server', async () => {
    const added = await deskbell(['key', 'add', 'Assistant', '--merchant', '1', '--json'], env);
    assert.equal(added.code, 0, added.stderr);
    const { stdout } = await deskbell(['key', 'list', '--merchant', '1'], env);
    assert.match(stdout, /Assistant/);
    const doctor = await deskbell(['doctor', '--json'], env);
    assert.equal(doctor.json.ok, true, doctor.stdout);
    const [command, ...args] = installed.program;
    const client = new Client(ABOUT);
    const settings = { PATH: process.env.PATH!, DESKBELL_URL: server.url, DESKBELL_KEY: added.json.key };
    await client.connect(new StdioClientTransport({ command, args: [...args, 'mcp'], env: settings }));
    assert.ok((await client.listTools()).tools.length > 2);
    await client.close();
  });

  it('checks new passwords in its own thread', async () => {
    const user = ['--merchant', '1', '--email', 'new@aurora.example', '--name', 'New'];
    const weak = await deskbell(['user', 'add', ...user], env, 'password1234\n');
    assert.equal(weak.code, 1);
    assert.match(weak.stderr, /password/i);
    assert.doesNotMatch(weak.stderr, /thread|Error/);
    const good = await deskbell(['user', 'add', ...user], env, 'blue-lamp-42-orbit\n');
    assert.equal(good.code, 0, good.stderr);
  });

  it('stops on SIGTERM', async () => {
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
  const PROBE = { DATABASE_URL: 'nonsense' };

  it('come from /etc/deskbell/deskbell.env, unless .env in the folder or the environment has others', async () => {
    // A mistake in a setting shows which ones it has read.
    const system = await withEtc(['serve'], 'true', { env: { DEMO: 'true', ...PROBE } });
    assert.match(system.output, /DEMO must not be true with NODE_ENV=production/);
    const environment = await withEtc(['serve'], 'true', {
      env: { DEMO: 'true', NODE_ENV: 'development', ...PROBE },
    });
    assert.doesNotMatch(environment.output, /DEMO/);
    const folder = newFolder('own-settings');
    writeFileSync(join(folder, '.env'), 'DEMO=true\nMETRICS_PORT=9\n');
    const own = await withEtc(['serve'], 'true', { cwd: folder, env: PROBE });
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
      assert.equal(code, 1, then);
      assert.equal(
        output,
        `The file /etc/deskbell/deskbell.env cannot be read. Run this as the user deskbell: sudo -u deskbell ${join(installed.prefix, 'bin/deskbell')} …\n`,
      );
    }
  });
});

const needsPostgres = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' };
const mayFilter = mayMount && installFilter();
describe('the command of the systemd units', { skip: mayFilter ? false : 'only root may mount' }, () => {
  it('of a server runs as an unprivileged user with the hardening of the unit, and stops on SIGTERM', async () => {
    const state = newFolder('state');
    const command = commandOf('deskbell.service', { ...installed, state, user: NOBODY });
    const server = await serve(ownEnv, command, '/');
    const ready = await call(server.url, 'GET', '/readyz');
    const page = await fetch(server.url);
    assert.deepEqual([ready.status, page.status], [200, 200], await page.text());
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    assert.deepEqual(globSync('deskbell.db', { cwd: state }), ['deskbell.db']);
    assert.match(server.stdout(), /"msg":"stopped"/);
  });

  it(
    'of a worker runs like this, too: it sends, has metrics, and stops on SIGTERM',
    needsPostgres,
    async () => {
      const database = await createDemoDatabase('postgres', 'weak');
      const server = await serve({ ...database.env, WORKER: 'false' });
      const port = await freePort();
      const state = newFolder('worker-state');
      const command = commandOf('deskbell-worker.service', { ...installed, state, user: NOBODY });
      const own = { DEMO: 'false', DATA_DIR: '/var/lib/deskbell', METRICS_PORT: String(port) };
      const worker = run({ ...ownEnv, ...database.env, ...own }, command, '/');
      try {
        await worker.waitForOutput(/sending messages/);
        const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
        assert.equal((await get('/healthz')).status, 200);
        const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
        const token = json.access_token;
        const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
        const path = `${raised.headers.get('location')}/answer`;
        await call(server.url, 'POST', path, { token, body: { answer: 'Yes.' } });
        await until('it has sent the answer', async () =>
          /^deskbell_send_attempts_total\{.*outcome="sent".*\} 1$/m.test(
            await (await get('/metrics')).text(),
          ),
        );
        assert.deepEqual(await worker.stop(), { code: 0, signal: null });
        assert.match(worker.stdout(), /"msg":"stopped"/);
      } finally {
        await worker.stop();
        await server.stop();
        await database.remove();
      }
    },
  );
});
