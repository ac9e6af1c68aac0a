import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../../scripts/services.ts';

/** Pauses every process of a PostgreSQL server. Returns a function that resumes them. */
export async function freeze(postgres: Service): Promise<() => void> {
  const main = postgres.process.pid!;
  // The main process first, so that it starts no more of them.
  await stop(main);
  // From the process table: PostgreSQL does not list a connection that is still signing in.
  const pids = [main, ...processes().flatMap(({ pid, parent }) => (parent === main ? [pid] : []))];
  await Promise.all(pids.map(stop));
  return () => {
    for (const pid of pids.splice(0)) signal(pid, 'SIGCONT');
  };
}

/** Waits until the process has stopped: after the signal it may continue for a moment. */
async function stop(pid: number): Promise<void> {
  if (!signal(pid, 'SIGSTOP')) return;
  while (!['T', 'Z', undefined].includes(processes().find((process) => process.pid === pid)?.state)) {
    await sleep(1);
  }
}

/** Returns false for a process that has ended. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** From /proc, or from ps on systems without it, such as macOS. */
function processes(): { pid: number; parent: number; state: string }[] {
  const lines = existsSync('/proc')
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(procLine)
    : execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).split('\n');
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state: state.charAt(0) };
  });
}

function procLine(pid: string): string {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return [pid, /^PPid:\s*(\d+)/m.exec(status)?.[1], /^State:\s*(\w)/m.exec(status)?.[1]].join(' ');
  } catch {
    return ''; // It has just ended.
  }
}
