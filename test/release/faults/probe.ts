import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * A client that sends a tiny request every ten milliseconds and measures the latency. It runs in its own thread,
 * because the thread that sends the abusive requests is busy and would measure itself.
 */
const INTERVAL_MS = 10;
const { url } = workerData as { url: string };
const latenciesMs: number[] = [];
let stopped = false;
parentPort!.once('message', () => {
  stopped = true;
});
while (!stopped) {
  const startedAt = performance.now();
  const ok = await fetch(`${url}/healthz`)
    .then(async (reply) => (await reply.text()) !== '' && reply.ok)
    .catch(() => false);
  latenciesMs.push(ok ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
  await sleep(INTERVAL_MS);
}
parentPort!.postMessage(latenciesMs);
