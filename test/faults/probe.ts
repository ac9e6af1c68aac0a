import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * A client that asks for next to nothing every ten milliseconds and keeps the time. A thread of its own: the
 * one that abuses is busy itself, and would measure that.
 */
const EVERY_MS = 10;
const { url } = workerData as { url: string };
const latenciesMs: number[] = [];
let over = false;
parentPort!.once('message', () => {
  over = true;
});
while (!over) {
  const startedAt = performance.now();
  const ok = await fetch(`${url}/healthz`)
    .then(async (reply) => (await reply.text()) !== '' && reply.ok)
    .catch(() => false);
  latenciesMs.push(ok ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
  await sleep(EVERY_MS);
}
parentPort!.postMessage(latenciesMs);
