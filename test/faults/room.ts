import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder whose room can be taken away from a running server, and given back. */
export interface Room {
  way: string;
  folder: string;
  take(pid: number): void;
  giveBack(pid: number): void;
  remove(): void;
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'deskbell-room-'));
const mustRun = (program: string, ...args: string[]) => {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
};

/** No file may grow any more: needs no rights but those over one's own process. */
export function roomByQuota(): Room {
  const folder = newFolder();
  const limit = (pid: number, soft: string) =>
    mustRun('prlimit', '--pid', String(pid), `--fsize=${soft}:unlimited`);
  return {
    way: 'quota',
    folder,
    take: (pid) => limit(pid, '0'),
    giveBack: (pid) => limit(pid, 'unlimited'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const DISK_MB = 24;

/** A disk of its own, and full: only root may make one. Nothing where that is refused. */
export function roomOnSmallDisk(): (Room & { lock(): void; unlock(): void }) | undefined {
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
  // However a run ends, no mount of it stays.
  process.once('exit', remove);
  return {
    way: 'full-disk',
    folder,
    take() {
      const file = openSync(filler, 'w');
      try {
        for (const bytes of [64 * 1024, 4096]) {
          const block = Buffer.alloc(bytes, 'x');
          try {
            for (;;) writeSync(file, block);
          } catch {
            // Full, but for less than a block.
          }
        }
      } finally {
        closeSync(file);
      }
    },
    giveBack: () => rmSync(filler, { force: true }),
    /** Read-only, and back. */
    lock: () => mustRun('mount', '-o', 'remount,ro', folder),
    unlock: () => mustRun('mount', '-o', 'remount,rw', folder),
    remove() {
      process.off('exit', remove);
      remove();
    },
  };
}
