// Every npm script calls this first, with any Node version, so it uses built-in modules only. It installs the
// dependencies, including the pinned Node, if the lock file or the platform has changed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail, mayWrite, runAlone } from './lock.mjs';

const NODE_MAJOR = 24;
const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const stamp = join(modules, '.installed-for');
const fingerprint = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform} ${process.arch}`)
  .digest('hex');

if (!isInstalled()) {
  if (!mayWrite(root, modules)) {
    fail(
      `The dependencies of Deskbell are not installed, and this user may not write to ${root}. Run "npm run build" there once as its owner.`,
    );
  }
  if (!runAlone(import.meta.url, 'Another process installs the dependencies. Waiting for it …')) install();
}

/** The file is the last thing that an installation writes. Older versions also wrote it without the build tools. */
function isInstalled() {
  return (
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === fingerprint &&
    existsSync(join(modules, 'vite', 'package.json'))
  );
}

function install() {
  process.stderr.write('Installing dependencies …\n');
  // The build tools, too, even if NODE_ENV is production: the dashboard is built here.
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', args, {
    cwd: root,
    // Hide npm's "added 200 packages", show its errors.
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail('Could not install the dependencies. Is the package registry reachable?');
  writeFileSync(stamp, fingerprint);
}

const bin = join(modules, '.bin');
let version;
try {
  version = execFileSync('node', ['--version'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  }).trim();
} catch {
  version = process.version;
}
if (Number(version.slice(1).split('.')[0]) < NODE_MAJOR) {
  fail(
    `Deskbell needs Node ${NODE_MAJOR}, and the package does not include it for this platform. Please install it.`,
  );
}
