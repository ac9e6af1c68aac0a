import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../../support/listening.ts';
import { call } from '../../../support/server.ts';
import { anyOf, type Client } from '../client.ts';
import type { KillableServer } from '../servers.ts';

/** Programs that read the events of a merchant, and resume where they were after each break. */

export interface ReadEvent {
  id: number;
  type: string;
  data: { notification_id?: number; reference?: string | null };
}

export interface Reader {
  /** In the order in which they arrived. */
  events: readonly ReadEvent[];
  /** How often it broke and resumed. */
  resumed(): number;
  stop(): Promise<void>;
}

const LOG = '/api/v1/events/log';
const RETRY_MS = 50;
const WAIT_SECONDS = 1;
/** Few, so that readers are in the middle of the log when new events get their positions. */
const LIMIT = 20;
/** A stream that the reader itself closes after at most this time. */
const CLOSE_AFTER_MS = 1500;

export function startLogReader(servers: readonly KillableServer[], token: string): Reader {
  const events: ReadEvent[] = [];
  let after = 0;
  return repeat(events, async () => {
    const path = `${LOG}?after=${after}&limit=${LIMIT}&wait=${WAIT_SECONDS}`;
    const { status, json } = await call(anyOf(servers).url, 'GET', path, { token });
    if (status !== 200) return false;
    events.push(...json.events);
    after = json.last_id;
    return true;
  });
}

export function startStreamReader(servers: readonly KillableServer[], token: string): Reader {
  const events: ReadEvent[] = [];
  let lastEventId = '0';
  return repeat(events, async (isStopped) => {
    const stream = await listen(anyOf(servers), token, { 'last-event-id': lastEventId });
    let broke = false;
    const ended = stream.ended.catch(() => {}).then(() => (broke = true));
    const closeAt = Date.now() + Math.random() * CLOSE_AFTER_MS;
    while (!broke && !isStopped() && Date.now() < closeAt) await sleep(20);
    stream.stop();
    await ended;
    for (const { event, id, data } of stream.events) {
      if (event !== 'connected') events.push(JSON.parse(data));
      lastEventId = id;
    }
    return false;
  });
}

function repeat(events: ReadEvent[], readOnce: (isStopped: () => boolean) => Promise<boolean>): Reader {
  let stopped = false;
  let resumed = 0;
  const running = (async () => {
    while (!stopped) {
      if (await readOnce(() => stopped).catch(() => false)) continue;
      resumed += 1;
      await sleep(RETRY_MS);
    }
  })();
  return {
    events,
    resumed: () => resumed,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** The whole log, when nothing changes any more. A server may still have to connect to its database again. */
export async function readLog(client: Client, token: string): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  for (let after = 0; ; ) {
    const { json } = await client.send('GET', `${LOG}?after=${after}&limit=500`, { token });
    events.push(...json.events);
    after = json.last_id;
    if (!json.more) return events;
  }
}
