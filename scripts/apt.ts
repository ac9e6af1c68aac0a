import { spawnSync } from 'node:child_process';

/** An upgrade of the whole system takes minutes, and holds the locks. */
const WAIT_MAX_MS = 10 * 60_000;
const RETRY_MS = 500;
/** Its option `DPkg::Lock::Timeout` knows only the locks of dpkg, not those of the lists and of the downloads. */
const LOCKED = /^E: (?:Could not get lock|Unable to (?:lock|acquire)) .*/m;

/**
 * Installs a Debian package. If another process holds one of the package manager's locks, it waits for it. Returns what went
 * wrong, in one line.
 */
export function installDebianPackage(name: string, waitMaxMs = WAIT_MAX_MS): string | undefined {
  const giveUpAt = Date.now() + waitMaxMs;
  // Old lists may be enough, so the next step decides.
  waitForLocks(['update', '-qq'], giveUpAt);
  const problem = waitForLocks(['install', '-y', '-qq', '--no-install-recommends', name], giveUpAt);
  return problem && `Could not install ${name}: ${problem}`;
}

/** Returns apt-get's last words if it failed. */
function waitForLocks(args: readonly string[], giveUpAt: number): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  for (let waited = false; ; waited = true) {
    const { status, stderr, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      env,
    });
    if (error) return error.message;
    if (status === 0) return undefined;
    const [locked] = LOCKED.exec(stderr) ?? [];
    if (locked === undefined) return stderr.trim().split('\n').at(-1) || `apt-get ended with ${status}`;
    if (Date.now() >= giveUpAt) return `another process still uses the package manager. ${locked.slice(3)}`;
    if (!waited)
      console.log(`Another process uses the package manager. Waiting for it … (${locked.slice(3)})`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
  }
}
