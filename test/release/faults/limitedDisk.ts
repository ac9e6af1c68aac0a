import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder whose free space can be taken away from a running server, and given back. */
export interface LimitedFolder {
  kind: string;
  folder: string;
  fill(pid: number): void;
  free(pid: number): void;
  remove(): void;
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'deskbell-disk-'));
const mustRun = (program: string, ...args: string[]) => {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
};

/** Forbids the process to make files larger. Needs no special rights. */
export function folderWithQuota(): LimitedFolder {
  const folder = newFolder();
  const limitFiles = (pid: number, bytes: '0' | 'unlimited') =>
    mustRun('prlimit', '--pid', String(pid), `--fsize=${bytes}:unlimited`);
  return {
    kind: 'quota',
    folder,
    fill: (pid) => limitFiles(pid, '0'),
    free: (pid) => limitFiles(pid, 'unlimited'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const DISK_MB = 24;

/** A small disk that can be filled. Only root can mount one; otherwise the result is undefined. */
export function folderOnSmallDisk(): LimitedFolder | undefined {
  const folder = newFolder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', folder]);
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const filler = join(folder, 'filler');
  const remove = () => {
    mustRun('umount', folder);
    rmSync(folder, { recursive: true });
  };
  // Unmount the disk even if the run fails.
  process.once('exit', remove);
  return {
    kind: 'full disk',
    folder,
    fill() {
      const file = openSync(filler, 'w');
      for (const bytes of [64 * 1024, 4096]) {
        const block = Buffer.alloc(bytes, 'x');
        try {
          for (;;) writeSync(file, block);
        } catch {
          // Full, except for less than a block.
        }
      }
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      process.off('exit', remove);
      remove();
    },
  };
}
