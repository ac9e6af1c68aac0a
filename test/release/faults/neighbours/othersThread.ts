import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { coreWaitMs, ownCoreWaitMs } from '../cores.ts';

/** What another merchant's people notice during an attack. */
export interface OthersFigures {
  requests: number;
  failed: number;
  longestMs: number;
}

/** The second demo merchant: reads its inbox and its user record, and raises questions. */
const SHOP = { email: 'owner@borealis.example', password: 'borealis-demo' };
const QUESTION = {
  notification_type: 'user_question_request',
  conversation_id: 4,
  context: { question: 'Do you deliver on Sundays?' },
};
const PAUSE_MS = 10;

const { url, pid } = workerData as { url: string; pid: number };
const figures: OthersFigures = { requests: 0, failed: 0, longestMs: 0 };
let stopped = false;
/** The attacker's own work, in this process, may keep both the server and this thread from a core. */
const waitedMs = () => coreWaitMs(pid) + ownCoreWaitMs();

const send = (path: string, { token, body }: { token?: string; body?: object } = {}) =>
  fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

const signedIn = await send('/api/v1/auth/login', { body: SHOP });
const { access_token: token } = (await signedIn.json()) as { access_token: string };
const requests = [
  () => send('/api/v1/auth/me', { token }),
  () => send('/api/v1/notification/?limit=20', { token }),
  () => send('/api/v1/notification/request', { token, body: QUESTION }),
];
for (const request of requests) await (await request()).text();

parentPort!.once('message', () => {
  stopped = true;
});
parentPort!.postMessage('ready');
for (let n = 0; !stopped; n += 1) {
  const startedAt = performance.now();
  const waitedBefore = waitedMs();
  const status = await requests[n % requests.length]!()
    .then(async (reply) => {
      await reply.text();
      return reply.status;
    })
    .catch(() => 0);
  const tookMs = performance.now() - startedAt;
  figures.requests += 1;
  if (status !== 200) figures.failed += 1;
  figures.longestMs = Math.max(figures.longestMs, tookMs - (waitedMs() - waitedBefore));
  await sleep(PAUSE_MS);
}
parentPort!.postMessage(figures);
