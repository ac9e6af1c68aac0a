import { readFileSync } from 'node:fs';

/** The unit of /proc/stat. */
const TICK_MS = 10;

/**
 * For how long others had the cores that a process needed, in total: the main thread waited while other programs ran,
 * or the machine is virtual and its host ran another one. Linux only; elsewhere 0.
 */
export function coreWaitMs(pid: number): number {
  try {
    const waitedNs = Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]);
    // cpu user nice system idle iowait irq softirq steal
    const stolenTicks = Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]);
    return waitedNs / 1e6 + stolenTicks * TICK_MS;
  } catch {
    return 0;
  }
}
