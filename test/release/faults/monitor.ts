import { setTimeout as sleep } from 'node:timers/promises';
import type { Serving } from '../../support/process.ts';
import { call } from '../../support/server.ts';
import { coreWaitMs } from './cores.ts';

/** The state of a server, by its own metrics. */
export interface ServerHealth {
  residentMb: number[];
  /** The longest block of the event loop in each interval, without the time in which other programs used the cores. */
  stallsMs: number[];
  /** Failed requests, as the server counts them. */
  failed: number;
}

const POLL_INTERVAL_MS = 200;
/** The event loop delay is sampled by a timer with this period, which is included in each sample. */
const RESOLUTION_MS = 10;

export function monitorServer({ url, child }: Serving): { stop(): Promise<ServerHealth> } {
  const health: ServerHealth = { residentMb: [], stallsMs: [], failed: 0 };
  let stopped = false;
  let waitMs = coreWaitMs(child.pid!);

  async function poll(): Promise<void> {
    const { text } = await call(url, 'GET', '/metrics');
    const figure = (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    health.residentMb.push(figure('process_resident_memory_bytes') / 2 ** 20);
    const before = waitMs;
    waitMs = coreWaitMs(child.pid!);
    const stallMs = figure('nodejs_eventloop_lag_max_seconds') * 1000 - RESOLUTION_MS;
    health.stallsMs.push(Math.max(0, stallMs - (waitMs - before)));
    const failures = text.matchAll(/^deskbell_http_requests_total\{.*outcome="failed".*\} (\d+)$/gm);
    health.failed = [...failures].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const polling = (async () => {
    await poll();
    // Ignore what happened before.
    health.stallsMs.length = 0;
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
      await polling;
      return health;
    },
  };
}
