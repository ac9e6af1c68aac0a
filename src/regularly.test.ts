import assert from 'node:assert/strict';
import { it } from 'node:test';
import { regularly } from './regularly.ts';

it('regular work never runs twice at the same time, and stopping waits for it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const running: { signal: AbortSignal; end: () => void }[] = [];
  const { stop } = regularly(1000, (signal) => {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    running.push({ signal, end });
    return promise;
  });
  t.mock.timers.tick(3000);
  assert.equal(running.length, 1);
  running[0]!.end();
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(1000);
  assert.equal(running.length, 2);

  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([stopped, running[1]!.signal.aborted], [false, true]);
  running[1]!.end();
  await stopping;
  t.mock.timers.tick(3000);
  assert.equal(running.length, 2);
});
