import { renew, tokenNow } from '../session/session.ts';
import { createStore } from '../shell/store.ts';
import { send } from './client.ts';

export type Connection = 'connecting' | 'live' | 'offline';
export const connection = createStore<Connection>('connecting');

/** The server says something every 15 s; silence for longer is a broken line that nobody told us of. */
const SILENCE_MAX_MS = 40_000;
const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 10_000;

/** Listens until stopped; takes up again where it was after a break. */
export function listen(onEvent: (name: string) => void): () => void {
  let stopped = false;
  let lastId: string | undefined;
  let breakOff: AbortController | undefined;
  let wakeUp: (() => void) | undefined;

  const hurry = () => wakeUp?.();
  const lost = () => breakOff?.abort();
  addEventListener('online', hurry);
  addEventListener('offline', lost);
  document.addEventListener('visibilitychange', hurry);

  void (async () => {
    let waitMs = WAIT_MIN_MS;
    let token = await tokenNow().catch(() => undefined);
    while (!stopped) {
      breakOff = new AbortController();
      try {
        token ??= await renew();
        await follow(token, breakOff, {
          lastId,
          onOpen() {
            // What happened during the break is fetched, with or without an event.
            if (connection.get() !== 'live') onEvent('open');
            connection.set('live');
            waitMs = WAIT_MIN_MS;
          },
          onEvent(name, id) {
            if (id !== undefined) lastId = id;
            onEvent(name);
          },
        });
        // Ended in order: the token has expired, or the server restarts.
        token = undefined;
        waitMs = WAIT_MIN_MS;
      } catch {
        token = undefined;
        connection.set(navigator.onLine ? 'connecting' : 'offline');
      }
      if (stopped) break;
      await new Promise<void>((resolve) => {
        wakeUp = resolve;
        setTimeout(resolve, waitMs * (0.5 + Math.random() / 2));
      });
      waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
      if (waitMs === WAIT_MAX_MS && connection.get() !== 'live') connection.set('offline');
    }
  })();

  return () => {
    stopped = true;
    removeEventListener('online', hurry);
    removeEventListener('offline', lost);
    document.removeEventListener('visibilitychange', hurry);
    breakOff?.abort();
    wakeUp?.();
  };
}

interface Following {
  lastId: string | undefined;
  onOpen: () => void;
  onEvent: (name: string, id: string | undefined) => void;
}

async function follow(token: string, breakOff: AbortController, following: Following): Promise<void> {
  let watchdog = setTimeout(() => breakOff.abort(), SILENCE_MAX_MS);
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (following.lastId !== undefined) headers['Last-Event-ID'] = following.lastId;
    const call = { method: 'GET', path: '/api/v1/events', headers } as const;
    const response = await send(call, token, { signal: breakOff.signal, cache: 'no-store' });
    if (!response.ok || !response.body) throw new Error(`no events: ${response.status}`);
    following.onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => breakOff.abort(), SILENCE_MAX_MS);
      const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) dispatch(block, following.onEvent);
    }
  } finally {
    clearTimeout(watchdog);
  }
}

/** One event: lines of `field: value`; a line that begins with a colon is the server's sign of life. */
function dispatch(block: string, onEvent: Following['onEvent']): void {
  let name: string | undefined;
  let id: string | undefined;
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'id') id = value;
  }
  if (name !== undefined) onEvent(name, id);
}
