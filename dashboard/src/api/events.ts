import { getAccessToken, refreshToken } from '../session/session.ts';
import { createStore } from '../shell/store.ts';
import { send } from './client.ts';

export type Connection = 'connecting' | 'live' | 'offline';
export const connection = createStore<Connection>('connecting');

/** The server sends a heartbeat every 15 s. After a longer silence the connection is considered broken. */
const SILENCE_MAX_MS = 40_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 10_000;

/** Receives events until unsubscribed. Reconnects and resumes after the last event. */
export function subscribe(onEvent: (name: string) => void): () => void {
  let stopped = false;
  let lastId: string | undefined;
  let abort: AbortController | undefined;
  let retryNow: (() => void) | undefined;

  const onOnline = () => retryNow?.();
  const onOffline = () => abort?.abort();
  addEventListener('online', onOnline);
  addEventListener('offline', onOffline);
  document.addEventListener('visibilitychange', onOnline);

  void (async () => {
    let retryMs = RETRY_MIN_MS;
    let token = await getAccessToken().catch(() => undefined);
    while (!stopped) {
      abort = new AbortController();
      let retryAfterMs = 0;
      try {
        token ??= await refreshToken();
        await readStream(token, abort, {
          lastId,
          onOpen() {
            // Load what changed while disconnected, even if no event arrives for it.
            if (connection.get() !== 'live') onEvent('open');
            connection.set('live');
            retryMs = RETRY_MIN_MS;
          },
          onEvent(name, id) {
            if (id !== undefined) lastId = id;
            onEvent(name);
          },
        });
        // Closed by the server: the session has ended, or the server restarts.
        token = undefined;
        retryMs = RETRY_MIN_MS;
      } catch (error) {
        // Too many requests or event streams: the token is still valid.
        if (error instanceof TooMany) retryAfterMs = error.retryAfterMs;
        else token = undefined;
        connection.set(navigator.onLine ? 'connecting' : 'offline');
      }
      if (stopped) break;
      await new Promise<void>((resolve) => {
        retryNow = resolve;
        setTimeout(resolve, Math.max(retryAfterMs, retryMs * (0.5 + Math.random() / 2)));
      });
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      if (retryMs === RETRY_MAX_MS && connection.get() !== 'live') connection.set('offline');
    }
  })();

  return () => {
    stopped = true;
    removeEventListener('online', onOnline);
    removeEventListener('offline', onOffline);
    document.removeEventListener('visibilitychange', onOnline);
    abort?.abort();
    retryNow?.();
  };
}

class TooMany extends Error {
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too many requests or event streams');
    this.retryAfterMs = retryAfterMs;
  }
}

interface StreamOptions {
  lastId: string | undefined;
  onOpen: () => void;
  onEvent: (name: string, id: string | undefined) => void;
}

async function readStream(token: string, abort: AbortController, options: StreamOptions): Promise<void> {
  let timeout = setTimeout(() => abort.abort(), SILENCE_MAX_MS);
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (options.lastId !== undefined) headers['Last-Event-ID'] = options.lastId;
    const call = { method: 'GET', path: '/api/v1/events', headers } as const;
    const response = await send(call, token, { signal: abort.signal, cache: 'no-store' });
    if (response.status === 429) throw new TooMany(Number(response.headers.get('Retry-After')) * 1000);
    if (!response.ok || !response.body) throw new Error(`no events: ${response.status}`);
    options.onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timeout);
      timeout = setTimeout(() => abort.abort(), SILENCE_MAX_MS);
      const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) dispatch(block, options.onEvent);
    }
  } finally {
    clearTimeout(timeout);
  }
}

/** One event consists of `field: value` lines. A line that starts with a colon is a heartbeat. */
function dispatch(block: string, onEvent: StreamOptions['onEvent']): void {
  let name: string | undefined;
  let id: string | undefined;
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'id') id = value;
  }
  if (name !== undefined) onEvent(name, id);
}
