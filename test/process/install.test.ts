import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../scripts/services.ts';
import { AS_NOBODY, isRoot } from '../support/installedPackage.ts';
import { newFolder, type Program, root, run } from '../support/process.ts';

/** A small project with our scripts. Its build tool only notes that it was called, and npm needs no network for it. */
const SCRIPTS = ['ensure.mjs', 'lock.mjs', 'build-dashboard.mjs'];
const PACKAGE = {
  name: 'small',
  version: '1.0.0',
  scripts: { postinstall: 'echo installed >> events.log' },
  devDependencies: { vite: 'file:tool' },
};
const LOCK = {
  name: 'small',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { ...PACKAGE, scripts: undefined, hasInstallScript: true },
    'node_modules/vite': { resolved: 'tool', link: true },
    tool: { name: 'vite', version: '1.0.0', dev: true },
  },
};
const TOOL = `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
export async function build({ root }) {
  mkdirSync(root + '/dist/assets', { recursive: true });
  writeFileSync(root + '/dist/index.html', '<html>');
  appendFileSync(root + '/../events.log', 'built\\n');
}
`;

function newProject(): string {
  const folder = join(newFolder(), 'project');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('package.json', JSON.stringify(PACKAGE));
  write('package-lock.json', JSON.stringify(LOCK));
  write(
    'tool/package.json',
    JSON.stringify({ name: 'vite', version: '1.0.0', type: 'module', main: 'index.js' }),
  );
  write('tool/index.js', TOOL);
  write('dashboard/index.html', '<html>');
  write('dashboard/src/service-worker.js', '');
  mkdirSync(join(folder, 'scripts'));
  for (const name of SCRIPTS) copyFileSync(join(root, 'scripts', name), join(folder, 'scripts', name));
  // Other users may read it.
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) chmodSync(path, 0o755);
  return folder;
}

describe('npm start, before the server', () => {
  let folder: string;
  beforeEach(() => {
    folder = newProject();
  });
  const PATH = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`;
  /** What `npm start` runs before the server. */
  const prepare = (env: Record<string, string> = {}, user: readonly string[] = []): Program =>
    run(
      { PATH, npm_config_update_notifier: 'false', ...env },
      [...user, 'sh', '-c', 'node scripts/ensure.mjs && node scripts/build-dashboard.mjs'],
      folder,
    );
  const prepared = async (...args: Parameters<typeof prepare>) => {
    const program = prepare(...args);
    return { code: (await program.ended).code, stderr: program.stderr() };
  };
  const events = () => {
    const log = join(folder, 'events.log');
    return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  };
  const isBuilt = () => existsSync(join(folder, 'dashboard/dist/index.html.br'));

  it('installs the build tools and builds the dashboard, even with NODE_ENV=production', async () => {
    const { code, stderr } = await prepared({ NODE_ENV: 'production' });
    assert.deepEqual([code, events(), isBuilt()], [0, ['installed', 'built'], true], stderr);
    assert.deepEqual(await prepared({ NODE_ENV: 'production' }), { code: 0, stderr: '' }, 'and only once');
    assert.equal(events().length, 2);
  });

  it('installs the build tools that an older version left out', async () => {
    await prepared();
    rmSync(join(folder, 'node_modules/vite'));
    assert.equal((await prepared({ NODE_ENV: 'production' })).code, 0);
    assert.deepEqual(events(), ['installed', 'built', 'installed']);
  });

  const flock = findProgram('flock');
  it('waits for another process that installs or builds', { skip: flock ? false : 'no flock' }, async (t) => {
    // Holds the lock until its input ends.
    const holder = spawn(flock!, [folder, 'sh', '-c', 'echo held; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => holder.stdin.end());
    await once(holder.stdout, 'data');
    const both = [prepare(), prepare()];
    const waiting = /^Another process installs the dependencies\. Waiting for it …$/m;
    let ended = false;
    for (const program of both) program.ended.then(() => (ended = true));
    while (!ended && !both.every((program) => waiting.test(program.stderr()))) await sleep(10);
    assert.equal(ended, false, 'they wait');
    assert.deepEqual(events(), []);
    holder.stdin.end();
    assert.deepEqual(await Promise.all(both.map(async ({ ended }) => (await ended).code)), [0, 0]);
    assert.deepEqual(events(), ['installed', 'built'], 'one did the work for both');
  });

  it('is not stopped by the lock of a process that was killed', {
    skip: flock ? false : 'no flock',
  }, async () => {
    const holder = spawn(flock!, ['--no-fork', folder, 'sh', '-c', 'echo held; exec sleep 600']);
    await once(holder.stdout, 'data');
    holder.kill('SIGKILL');
    assert.equal((await prepared()).code, 0);
  });

  describe('in a folder of somebody else', { skip: isRoot ? false : 'only root can change the user' }, () => {
    const asNobody = () => prepared({ HOME: '/nonexistent' }, AS_NOBODY);

    it('does nothing if everything is there', async () => {
      await prepared();
      assert.deepEqual(await asNobody(), { code: 0, stderr: '' });
    });

    it('says in one line what its owner must do, if something is missing', async () => {
      const missing = await asNobody();
      assert.equal(missing.code, 1);
      assert.match(
        missing.stderr,
        /^The dependencies of Deskbell are not installed, and this user may not write to \S+\. Run "npm run build" there once as its owner\.\n$/,
      );
      await prepared();
      rmSync(join(folder, 'dashboard/dist'), { recursive: true });
      const notBuilt = await asNobody();
      assert.equal(notBuilt.code, 1);
      assert.match(
        notBuilt.stderr,
        /^The dashboard is not built, and this user may not write to \S+\. Run [^\n]+\n$/,
      );
    });

    it('uses an older dashboard, and says so', async () => {
      await prepared();
      writeFileSync(join(folder, 'dashboard/index.html'), '<html lang="en">');
      const { code, stderr } = await asNobody();
      assert.equal(code, 0);
      assert.match(
        stderr,
        /^The dashboard was built from older sources, and this user may not write to [^\n]+\n$/,
      );
      assert.deepEqual(events(), ['installed', 'built']);
    });
  });
});
