/** Another merchant's ordinary requests, from a thread of its own. Reports the longest. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { url, token, pid } = workerData as { url: string; token: string; pid: number };
const PATHS = ['/api/v1/auth/me', '/api/v1/notification/?limit=20'];
const PAUSE_MS = 2;
const headers = { authorization: `Bearer ${token}` };
/** How long a thread has waited for a core that another program used. */
const coreWaitMs = (thread: string) =>
  Number(readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
const coreWaits = () => ['thread-self', `${pid}/task/${pid}`].map(coreWaitMs);
let stopped = false;
let longestMs = 0;

for (const path of PATHS) await (await fetch(url + path, { headers })).text();
parentPort!.once('message', () => {
  stopped = true;
});
parentPort!.postMessage('ready');
for (let n = 0; !stopped; n += 1) {
  const startedAt = performance.now();
  const before = coreWaits();
  await (await fetch(url + PATHS[n % PATHS.length], { headers })).text();
  const waited = coreWaits().map((ms, thread) => ms - before[thread]!);
  longestMs = Math.max(longestMs, performance.now() - startedAt - Math.max(...waited));
  await sleep(PAUSE_MS);
}
parentPort!.postMessage(longestMs);
