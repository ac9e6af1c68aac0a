import assert from 'node:assert/strict';
import { it } from 'node:test';
import Fastify from 'fastify';
import { createWaitLimits } from '../live/limits.ts';
import { waitFor } from '../live/wait.ts';
import { answerClient } from './http.ts';

it('stops waiting for an answer when the client has gone', { timeout: 20_000 }, async () => {
  const app = Fastify();
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request) => {
    request.caller = { kind: 'key', merchantId: 1, expiresAt: null } as never;
  });
  const waiting = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const wait = { seconds: 45, read: async () => ({}), isDone: () => false, now: () => new Date() };
  const limits = createWaitLimits({
    waitingRequestsPerUser: 1,
    waitingRequestsPerMerchant: 1,
    onChange() {},
  });
  const revocations = { watch: () => () => {} };
  const subscribe = async () => {
    waiting.resolve();
    return () => stopped.resolve();
  };
  app.get('/api/v1/ask/:id', (request, reply) =>
    waitFor({ ...wait, request, reply, limits, whenFull: 'refuse', revocations, subscribe }),
  );
  app.post('/mcp', (request, reply) => answerClient(request, reply, new Set()));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  const client = new AbortController();
  const call = fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer key',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'get_answer', arguments: { id: 1, wait_seconds: 45 } },
    }),
    signal: client.signal,
  }).then((response) => response.text());
  await waiting.promise;
  client.abort();
  await assert.rejects(call, { name: 'AbortError' });
  await stopped.promise;
  await app.close();
});
