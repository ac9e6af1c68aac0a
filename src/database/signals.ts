import { EventEmitter } from 'node:events';
import pg from 'pg';
import type { Hosts } from './hosts.ts';

/** LISTEN and NOTIFY, on a connection of their own that comes back when it breaks. */
export interface Signals {
  signal(topic: string): void;
  listen(topic: string, onSignal: () => void): () => void;
  close(): Promise<void>;
}

/** Signals in a row are sent as one: NOTIFY makes commits wait for each other. */
const TOGETHER_MS = 10;
const RECONNECT_MS = 1000;
/** Whoever only listens never learns that the other side is gone: so it asks, now and then. */
const ASK_EVERY_MS = 2000;
const ANSWER_MAX_MS = 2000;
const GOODBYE_MAX_MS = 500;

export function createSignals(hosts: Hosts, notify: (topic: string) => Promise<unknown>): Signals {
  const local = new EventEmitter().setMaxListeners(0);
  const topics = new Set<string>();
  const announced = new Map<string, NodeJS.Timeout>();
  let client: pg.Client | undefined;
  let connecting: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let asking: NodeJS.Timeout | undefined;
  let closed = false;

  async function connect(): Promise<void> {
    const next = new hosts.Client({
      connectionString: hosts.url,
      keepAlive: true,
      connectionTimeoutMillis: ANSWER_MAX_MS,
      query_timeout: ANSWER_MAX_MS,
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
      askAgain(next);
    } catch {
      await hangUp(next);
      again(next);
    }
  }

  function askAgain(asked: pg.Client): void {
    asking = setTimeout(async () => {
      const answers = await asked.query('select 1').catch(() => false);
      if (answers && !hosts.isLeft(asked)) askAgain(asked);
      else await hangUp(asked);
    }, ASK_EVERY_MS);
    asking.unref();
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
      clearTimeout(asking);
      for (const timer of announced.values()) clearTimeout(timer);
      await connecting?.catch(() => {});
      if (client) await hangUp(client);
    },
  };
}

/** In order, where the other side still answers. */
async function hangUp(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MAX_MS);
  await client.end().catch(() => {});
  clearTimeout(cut);
}
