import { createParser } from 'eventsource-parser';
import type { Deskbell } from './server.ts';

export const EVENTS = '/api/v1/events';

const TICK_MS = 50;

interface StreamEvent {
  event: string;
  id: string;
  data: string;
}

/** A client of the event stream. Like the dashboard it uses fetch, because EventSource cannot send a bearer token. */
export interface Listener {
  headers: Headers;
  events: StreamEvent[];
  /** Everything that was received, including comments. */
  text(): string;
  /**
   * Waits for the next event of this name, or throws after this time. The default is too short for polling, which finds
   * changes without a signal after five seconds. Time in which this process did not run does not count.
   */
  next(event: string, withinMs?: number): Promise<StreamEvent>;
  /** Resolves when the server ends the stream. */
  ended: Promise<void>;
  hasEnded(): boolean;
  stop(): void;
}

export async function listen(
  { url }: Pick<Deskbell, 'url'>,
  token: string,
  headers: Record<string, string> = {},
): Promise<Listener> {
  const leave = new AbortController();
  const response = await fetch(url + EVENTS, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: leave.signal,
  });
  if (response.status !== 200) throw new Error(`not listening: ${response.status} ${await response.text()}`);
  const events: StreamEvent[] = [];
  const waited = new Map<string, number>();
  let text = '';
  let isOver = false;
  let wake = () => {};

  const ended = (async () => {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ event = 'message', id = '', data }) => events.push({ event, id, data }),
    });
    try {
      for await (const chunk of response.body!) {
        const part = decoder.decode(chunk, { stream: true });
        text += part;
        parser.feed(part);
        wake();
      }
      isOver = true;
    } catch (error) {
      if (!leave.signal.aborted) throw error;
    }
  })();

  return {
    headers: response.headers,
    events,
    text: () => text,
    async next(event, withinMs = 20_000) {
      const index = waited.get(event) ?? 0;
      for (let leftMs = withinMs; ; ) {
        const found = events.filter((one) => one.event === event)[index];
        if (found) {
          waited.set(event, index + 1);
          return found;
        }
        if (leftMs <= 0) throw new Error(`no ${event} within ${withinMs} ms, but ${JSON.stringify(text)}`);
        const isLater = await new Promise<boolean>((resolve) => {
          wake = () => resolve(false);
          setTimeout(resolve, TICK_MS, true);
        });
        if (isLater) leftMs -= TICK_MS;
      }
    },
    ended,
    hasEnded: () => isOver,
    stop: () => leave.abort(),
  };
}
