import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, NOTIFICATIONS } from '../../../support/server.ts';
import { none, type Size } from '../fault.ts';
import type { Attack, Target } from '../neighbours.ts';

const ASK = '/api/v1/ask';
const WAITING = 1000;
/** Nothing is learned from it. */
const ANSWER = { answer: 'Yes.', only_send_campaign: true };
const OPENED_AT_ONCE = 20;
/** For the calls around them, which are not the attack. */
const CALLS_AT_ONCE = 4;
/** How long they wait while their merchant answers one after another. */
const OWN_SECONDS: Record<Size, number> = { short: 1, full: 10 };
const WAKE_UPS: Record<Size, number> = { short: 3, full: 30 };
const WAKE_EVERY_MS = 500;

/** All of a merchant's assistants wait at once: first each for its own ask, then all for one ask after another. */
export const waitingAssistants: Attack = {
  what: 'waiting assistants',
  async warmUp(target) {
    const { ask, answer, cancel, wait, close } = await createAssistants(target);
    const [answered, cancelled] = [await ask(), await ask()];
    const waiting = wait(answered);
    await answer(answered);
    await waiting;
    await cancel(cancelled);
    close();
  },
  async run(target) {
    const { size } = target;
    const { ask, answer, cancel, wait, close } = await createAssistants(target);
    try {
      const ids = await inParallel(WAITING, ask);
      const own = await openAll((n) => wait(ids[n]!));
      for (const endsAt = Date.now() + OWN_SECONDS[size] * 1000; Date.now() < endsAt; await sleep(50)) {
        await answer(ids.pop()!);
      }
      await inParallel(ids.length, () => cancel(ids.pop()!));
      const heard = await Promise.all(own);

      // Who has heard of one ask waits for the next at once.
      const shared = await inParallel(WAKE_UPS[size], ask);
      const together = await openAll(async () => {
        let answered = 0;
        for (const id of shared) if ((await wait(id)) === 'answered') answered += 1;
        return answered;
      });
      for (const id of shared) {
        await answer(id);
        await sleep(WAKE_EVERY_MS);
      }
      const woken = (await Promise.all(together)).reduce((sum, answered) => sum + answered, 0);
      const ended = heard.filter((status) => status === 'answered' || status === 'cancelled').length;
      return [
        { what: 'waiting assistants: waited at once', value: WAITING },
        none('waiting assistants: waits for own asks that ended without an answer', WAITING - ended),
        { what: 'waiting assistants: times that all were woken at once', value: WAKE_UPS[size] },
        none(
          'waiting assistants: waits for one ask that ended without an answer',
          WAKE_UPS[size] * WAITING - woken,
        ),
      ];
    } finally {
      close();
    }
  },
};

async function createAssistants({ server, token }: Target) {
  const { url } = server;
  const created = await call(url, 'POST', '/api/v1/keys', { token, body: { name: 'Assistants' } });
  const key: string = created.json.key;
  const agent = new Agent({ keepAlive: true });
  return {
    async ask(): Promise<number> {
      const body = { question: `May I ask about ${randomUUID()}?`, customer: { phone: '+34600000001' } };
      return (await call(url, 'POST', ASK, { token: key, body })).json.id;
    },
    answer: (id: number) => call(url, 'POST', `${NOTIFICATIONS}/${id}/answer`, { token, body: ANSWER }),
    cancel: (id: number) => call(url, 'DELETE', `${ASK}/${id}`, { token: key }),
    wait: (id: number) => waitFor(server, agent, key, id),
    close: () => agent.destroy(),
  };
}

/** A few at a time, as assistants would. */
async function openAll<T>(open: (n: number) => Promise<T>): Promise<Promise<T>[]> {
  const opened: Promise<T>[] = [];
  while (opened.length < WAITING) {
    for (let n = 0; n < OPENED_AT_ONCE; n += 1) opened.push(open(opened.length));
    await sleep(20);
  }
  return opened;
}

async function inParallel<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let started = 0;
  const runOne = async () => {
    while (started < count) {
      started += 1;
      results.push(await work());
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, runOne));
  return results;
}

/** What the assistant hears. */
function waitFor({ port }: Target['server'], agent: Agent, key: string, id: number): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const waiting = request({ port, host: '127.0.0.1', path: `${ASK}/${id}?wait=45`, headers, agent });
    waiting.on('response', async (response) => {
      const text = (await response.toArray()).join('');
      resolve(/"status":"(\w+)"/.exec(text)?.[1] ?? text);
    });
    waiting.on('error', () => resolve('broken'));
    waiting.end();
  });
}
