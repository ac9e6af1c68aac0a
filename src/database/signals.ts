import { EventEmitter } from 'node:events';
import pg from 'pg';

/** LISTEN and NOTIFY, on a connection of their own that comes back when it breaks. */
export interface Signals {
  signal(topic: string): void;
  listen(topic: string, onSignal: () => void): () => void;
  close(): Promise<void>;
}

/** Signals in a row are sent as one: NOTIFY makes commits wait for each other. */
const TOGETHER_MS = 10;
const RECONNECT_MS = 1000;

export function createSignals(url: string, notify: (topic: string) => Promise<unknown>): Signals {
  const local = new EventEmitter().setMaxListeners(0);
  const topics = new Set<string>();
  const announced = new Map<string, NodeJS.Timeout>();
  let client: pg.Client | undefined;
  let connecting: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: 3000,
      application_name: 'deskbell signals',
    });
    next.on('error', () => {});
    next.on('end', () => again(next));
    next.on('notification', ({ channel }) => local.emit(channel));
    client = next;
    try {
      await next.connect();
      for (const topic of topics) await next.query(`listen ${pg.escapeIdentifier(topic)}`);
      // What was signalled while it was away is not known: everybody looks once.
      for (const topic of topics) local.emit(topic);
    } catch {
      await next.end().catch(() => {});
      again(next);
    }
  }

  function again(ended: pg.Client): void {
    if (closed || client !== ended || retry) return;
    retry = setTimeout(() => {
      retry = undefined;
      connecting = connect();
    }, RECONNECT_MS);
    retry.unref();
  }

  return {
    signal(topic) {
      local.emit(topic);
      if (announced.has(topic)) return;
      const timer = setTimeout(() => {
        announced.delete(topic);
        notify(topic).catch(() => {});
      }, TOGETHER_MS);
      announced.set(topic, timer);
    },
    listen(topic, onSignal) {
      local.on(topic, onSignal);
      if (!topics.has(topic)) {
        topics.add(topic);
        if (!client) connecting = connect();
        else
          connecting = connecting?.then(
            async () => void (await client?.query(`listen ${pg.escapeIdentifier(topic)}`)),
          );
        connecting?.catch(() => {});
      }
      return () => local.off(topic, onSignal);
    },
    async close() {
      closed = true;
      clearTimeout(retry);
      for (const timer of announced.values()) clearTimeout(timer);
      await connecting?.catch(() => {});
      await client?.end().catch(() => {});
    },
  };
}
