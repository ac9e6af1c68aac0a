import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

const REQUEST_START = 'http.server.request.start';

/** Resolves when this many requests with `?wait=` have arrived at servers of this process. */
export function waitsArrive(count = 1): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  const onRequest = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    if (/[?&]wait=/.test(request.url ?? '')) arrived += 1;
    if (arrived < count) return;
    unsubscribe(REQUEST_START, onRequest);
    resolve();
  };
  subscribe(REQUEST_START, onRequest);
  return promise;
}
