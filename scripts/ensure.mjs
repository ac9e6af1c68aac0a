// Every npm script calls this first, with any Node version, so it uses built-in modules only. It installs the
// dependencies, including the pinned Node, if the lock file or the platform has changed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'node_modules', '.installed-for');
const fingerprint = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform} ${process.arch}`)
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== fingerprint) {
  process.stderr.write('Installing dependencies …\n');
  const { status } = spawnSync('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    // Hide npm's "added 200 packages", show its errors.
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail('Could not install the dependencies. Is the package registry reachable?');
  writeFileSync(stamp, fingerprint);
}

const bin = join(root, 'node_modules', '.bin');
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

function fail(message) {
  console.error(message);
  process.exit(1);
}
