import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../support/listening.ts';
import { call, NOTIFICATIONS } from '../../support/server.ts';

/** A client like the dashboard: when an event says that something changed, it loads the list. */
export interface DashboardClient {
  /** When it first saw each notification in each status, by `seenKey`. */
  seen: ReadonlyMap<string, number>;
  /** How often its event stream broke and was opened again. */
  reconnects(): number;
  stop(): Promise<void>;
}

export const seenKey = (address: string, status: 'requested' | 'answered') => `${address} ${status}`;

const RECONNECT_MS = 200;
/** Several changes within this time cause one request. */
const LOAD_INTERVAL_MS = 200;
/** More than are raised while the stream is broken. */
const LIST_LIMIT = 300;

export function startDashboardClient(url: string, token: string): DashboardClient {
  const seen = new Map<string, number>();
  let stopped = false;
  let opened = 0;
  let lastEventId: string | undefined;

  async function load(): Promise<void> {
    const { status, json } = await call(url, 'GET', `${NOTIFICATIONS}/?limit=${LIST_LIMIT}`, { token });
    if (status !== 200) throw new Error('the list could not be loaded');
    for (const { id, status: itsStatus } of json) {
      const key = seenKey(`${NOTIFICATIONS}/${id}`, itsStatus);
      if (!seen.has(key)) seen.set(key, performance.now());
    }
  }

  /** Resolves when the stream breaks. */
  async function follow(): Promise<void> {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const stream = await listen({ url }, token, headers);
    opened += 1;
    let ended = false;
    stream.ended.then(
      () => (ended = true),
      () => (ended = true),
    );
    try {
      let processed = 0;
      while (!stopped && !ended) {
        const events = stream.events.slice(processed);
        processed += events.length;
        if (events.some(({ event }) => event === 'inbox')) {
          await load();
          // Only after loading: if the stream breaks earlier, the event comes again.
          lastEventId = events.at(-1)!.id;
        } else lastEventId ??= /^id: (.*)$/m.exec(stream.text())?.[1];
        await sleep(LOAD_INTERVAL_MS);
      }
    } finally {
      stream.stop();
    }
  }

  const running = (async () => {
    while (!stopped) {
      await follow().catch(() => {});
      await sleep(RECONNECT_MS);
    }
  })();
  return {
    seen,
    reconnects: () => opened - 1,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
