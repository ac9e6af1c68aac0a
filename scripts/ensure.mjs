// What every npm script calls first, on whatever Node the machine has; built-ins only. Installs the
// dependencies, the pinned Node among them, when the lock file or the platform has changed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'node_modules', '.installed-for');
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform} ${process.arch}`)
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('Installing dependencies, once …\n');
  const { status } = spawnSync('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    // npm's own "added 200 packages" is no news; its errors are.
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail('The dependencies could not be installed. Is the package registry within reach?');
  writeFileSync(stamp, wanted);
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
    `Deskbell needs Node ${NODE_MAJOR}, and no build of it comes with the package for this platform. Install it.`,
  );
}

function fail(line) {
  console.error(line);
  process.exit(1);
}
