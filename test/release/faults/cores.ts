import { readFileSync } from 'node:fs';

/** The unit of /proc/stat. */
const TICK_MS = 10;

/**
 * For how long others had the cores that a process needed, in total: the main thread waited while other programs ran,
 * or the machine is virtual and its host ran another one. Linux only; elsewhere 0.
 */
export function coreWaitMs(pid: number): number {
  try {
    const waitedMs = schedulerWaitMs(`/proc/${pid}/task/${pid}`);
    // cpu user nice system idle iowait irq softirq steal
    const stolenTicks = Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]);
    return waitedMs + stolenTicks * TICK_MS;
  } catch {
    return 0;
  }
}

/** The same for the thread that calls this, without what the host took. */
export function ownCoreWaitMs(): number {
  try {
    return schedulerWaitMs('/proc/thread-self');
  } catch {
    return 0;
  }
}

const schedulerWaitMs = (thread: string) =>
  Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
