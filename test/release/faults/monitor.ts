import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Serving } from '../../support/process.ts';
import { call } from '../../support/server.ts';
import { coreWaitMs } from './cores.ts';
import type { Size } from './fault.ts';

/** The state of a server, by its own metrics and as a second client sees it. */
export interface ServerHealth {
  residentMb: number[];
  stalls: Stall[];
  /** Empty in the short run, where other tests disturb the second client. */
  latenciesMs: number[];
  /** Failed requests, as the server counts them. */
  failed: number;
}

/** The longest block of the event loop in an interval. */
interface Stall {
  ms: number;
  /** Without the time in which other programs used the cores. */
  ownMs: number;
}

const POLL_INTERVAL_MS = 200;
/** The event loop delay is sampled by a timer with this period, which is included in each sample. */
const RESOLUTION_MS = 10;

export function monitorServer({ url, child }: Serving, size: Size): { stop(): Promise<ServerHealth> } {
  const residentMb: number[] = [];
  const stalls: Stall[] = [];
  let failed = 0;
  let stopped = false;
  let waitMs = coreWaitMs(child.pid!);
  const probe =
    size === 'full' ? new Worker(new URL('./probe.ts', import.meta.url), { workerData: { url } }) : undefined;

  async function poll(): Promise<void> {
    const { text } = await call(url, 'GET', '/metrics');
    const figure = (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    residentMb.push(figure('process_resident_memory_bytes') / 2 ** 20);
    const before = waitMs;
    waitMs = coreWaitMs(child.pid!);
    const ms = Math.max(0, figure('nodejs_eventloop_lag_max_seconds') * 1000 - RESOLUTION_MS);
    stalls.push({ ms, ownMs: Math.max(0, ms - (waitMs - before)) });
    const failures = text.matchAll(/^deskbell_http_requests_total\{.*outcome="failed".*\} (\d+)$/gm);
    failed = [...failures].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const polling = (async () => {
    await poll();
    // Ignore what happened before.
    stalls.length = 0;
    while (!stopped) {
      await sleep(POLL_INTERVAL_MS);
      await poll();
    }
  })();
  // An error is reported where the promise is awaited.
  polling.catch(() => {});
  return {
    async stop() {
      stopped = true;
      await polling.finally(() => probe?.postMessage('stop'));
      const [latenciesMs] = probe ? ((await once(probe, 'message')) as [number[]]) : [[]];
      await probe?.terminate();
      return { residentMb, stalls, latenciesMs, failed };
    },
  };
}
