// Built-in modules only: it must work with any Node, before anything is installed.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const HELD = 'DESKBELL_LOCK_HELD';
const BUSY = 75;

/**
 * Runs a script of this folder again, alone: others that want to change the project's files wait. Returns false if the
 * caller holds the lock, or if the system has none (macOS): then it does the work itself. The kernel releases the lock of
 * a process that dies, so there are no old locks to remove.
 */
export function runAlone(script, waiting) {
  if (process.env[HELD]) return false;
  const lock = (...args) =>
    spawnSync('flock', [...args], { stdio: 'inherit', env: { ...process.env, [HELD]: '1' } });
  const attempt = lock('--nonblock', '--conflict-exit-code', String(BUSY), root, 'true');
  if (attempt.error) return false;
  if (attempt.status === BUSY) process.stderr.write(`${waiting}\n`);
  const { status } = lock(root, process.execPath, fileURLToPath(script));
  if (status !== 0) process.exit(status ?? 1);
  return true;
}

/** Whether this user may change what is in these folders, or create them. */
export function mayWrite(...folders) {
  try {
    for (const folder of folders) accessSync(existsSync(folder) ? folder : root, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** One line for a person, without a stack. */
export function fail(message) {
  console.error(message);
  process.exit(1);
}
