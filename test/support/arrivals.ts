import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

const REQUEST_START = 'http.server.request.start';

/** Resolves with the responses when this many requests with `?wait=` have arrived at servers of this process. */
export function waitsArrive(count = 1): Promise<ServerResponse[]> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse[]>();
  const responses: ServerResponse[] = [];
  const onRequest = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (/[?&]wait=/.test(request.url ?? '')) responses.push(response);
    if (responses.length < count) return;
    unsubscribe(REQUEST_START, onRequest);
    resolve(responses);
  };
  subscribe(REQUEST_START, onRequest);
  return promise;
}
