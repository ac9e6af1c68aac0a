import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { call } from '../harness.ts';
import type { Serving } from '../process.ts';

/** How a server feels, by its own figures and as a patient second client sees it. */
export interface Vitals {
  residentMb: number[];
  stalls: Stall[];
  latenciesMs: number[];
  /** Requests that failed by the server's own count. */
  failed: number;
}

/** The longest that the event loop stood still, in an interval. */
interface Stall {
  ms: number;
  /** Without the time for which other programs had the cores. */
  ownMs: number;
}

const LOOK_EVERY_MS = 200;
/** The loop's delay is sampled by a timer of this period, which is part of each sample. */
const RESOLUTION_MS = 10;

export function watchVitals({ url, child }: Serving): { stop(): Promise<Vitals> } {
  const residentMb: number[] = [];
  const stalls: Stall[] = [];
  let failed = 0;
  let over = false;
  let waitedMs = coreWaitMs(child.pid!);
  const probe = new Worker(new URL('./probe.ts', import.meta.url), { workerData: { url } });

  async function look(): Promise<void> {
    const { text } = await call(url, 'GET', '/metrics');
    const figure = (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    residentMb.push(figure('process_resident_memory_bytes') / 2 ** 20);
    const before = waitedMs;
    waitedMs = coreWaitMs(child.pid!);
    const ms = Math.max(0, figure('nodejs_eventloop_lag_max_seconds') * 1000 - RESOLUTION_MS);
    stalls.push({ ms, ownMs: Math.max(0, ms - (waitedMs - before)) });
    const failures = text.matchAll(/^deskbell_http_requests_total\{.*outcome="failed".*\} (\d+)$/gm);
    failed = [...failures].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const looking = (async () => {
    await look();
    // What was before is none of ours.
    stalls.length = 0;
    while (!over) {
      await sleep(LOOK_EVERY_MS);
      await look();
    }
  })();
  // Heard of where it is awaited.
  looking.catch(() => {});
  return {
    async stop() {
      over = true;
      await looking.finally(() => probe.postMessage('stop'));
      const [latenciesMs] = (await once(probe, 'message')) as [number[]];
      await probe.terminate();
      return { residentMb, stalls, latenciesMs, failed };
    },
  };
}

/** For how long, in all, the main thread was ready and no core was free. Linux tells; elsewhere it is none. */
function coreWaitMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
