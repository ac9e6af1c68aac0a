import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { serviceUnavailable } from '../../errors.ts';

/**
 * Above this delay of the event loop the server refuses new requests, so that it can finish the current ones. With 0 it
 * never does.
 */
export function refuseWhenOverloaded(app: FastifyInstance, delayMaxMs: number): void {
  if (delayMaxMs === 0) return;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  let overloaded = false;
  delay.enable();
  const timer = setInterval(() => {
    overloaded = delay.mean / 1e6 > delayMaxMs;
    delay.reset();
  }, 1000).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    delay.disable();
  });
  app.addHook('onRequest', (request, _reply, done) => {
    // Health checks and metrics must still answer.
    if (overloaded && request.routeOptions.url?.startsWith('/api/')) done(serviceUnavailable());
    else done();
  });
}
