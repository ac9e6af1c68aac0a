import assert from 'node:assert/strict';
import { it } from 'node:test';
import Fastify from 'fastify';
import { msLeft } from '../../database/deadline.ts';
import { limitDuration } from './duration.ts';

it('a client that sends its body slowly does not use up the time of its request', async ({ mock }) => {
  let nowMs = 0;
  mock.method(performance, 'now', () => nowMs);
  const app = Fastify();
  limitDuration(app, 10);
  let onHead = () => {};
  app.addHook('preParsing', async () => onHead());
  app.post('/', () => ({ left: msLeft() }));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const send = async (seconds: number) => {
    const headArrived = new Promise<void>((resolve) => {
      onHead = resolve;
    });
    async function* body() {
      yield '{';
      await headArrived;
      nowMs += seconds * 1000;
      yield '}';
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ReadableStream.from(body()).pipeThrough(new TextEncoderStream()),
      duplex: 'half',
    } as RequestInit);
    return response.json();
  };
  try {
    assert.deepEqual([await send(0), await send(30)], [{ left: 9500 }, { left: 9500 }]);
  } finally {
    await app.close();
  }
});
