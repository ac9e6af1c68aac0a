import { setTimeout as sleep } from 'node:timers/promises';
import { call, NOTIFICATIONS } from '../harness.ts';
import { listen } from '../listening.ts';

/** A merchant's window as the dashboard is one: told that something changed, it asks what. */
export interface Watching {
  /** When each notification was first seen in each status, by `seenKey`. */
  seen: ReadonlyMap<string, number>;
  /** How often its stream broke off and was opened again. */
  reopened(): number;
  stop(): Promise<void>;
}

export const seenKey = (address: string, status: 'requested' | 'answered') => `${address} ${status}`;

const REOPEN_MS = 200;
/** Changes in a row are asked for once. */
const ASK_EVERY_MS = 200;
/** Of those, the newest: more than are raised while a stream is away. */
const NEWEST = 300;

export function watch(url: string, token: string): Watching {
  const seen = new Map<string, number>();
  let stopped = false;
  let opened = 0;
  let lastEventId: string | undefined;

  async function look(): Promise<void> {
    const { status, json } = await call(url, 'GET', `${NOTIFICATIONS}/?limit=${NEWEST}`, { token });
    if (status !== 200) throw new Error('the list is not there');
    for (const one of json) {
      const key = seenKey(`${NOTIFICATIONS}/${one.id}`, one.status);
      if (!seen.has(key)) seen.set(key, performance.now());
    }
  }

  /** Until it breaks off. */
  async function follow(): Promise<void> {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const stream = await listen({ url }, token, headers);
    opened += 1;
    let over = false;
    stream.ended.then(
      () => (over = true),
      () => (over = true),
    );
    try {
      let told = 0;
      while (!stopped && !over) {
        const news = stream.heard.slice(told);
        told += news.length;
        if (news.some(({ event }) => event === 'inbox')) {
          await look();
          // Only now is this known: whoever breaks off before that is told again.
          lastEventId = news.at(-1)!.id;
        } else lastEventId ??= /^id: (.*)$/m.exec(stream.text())?.[1];
        await sleep(ASK_EVERY_MS);
      }
    } finally {
      stream.stop();
    }
  }

  const running = (async () => {
    while (!stopped) {
      await follow().catch(() => {});
      await sleep(REOPEN_MS);
    }
  })();
  return {
    seen,
    reopened: () => opened - 1,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
