import assert from 'node:assert/strict';
import { it } from 'node:test';
import Fastify from 'fastify';
import { forbidden } from '../../errors.ts';
import { drainUnreadBodies } from './unreadBodies.ts';

it('does nothing after a call within the process, which has no connection', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const app = Fastify();
  drainUnreadBodies(app);
  const preParsing = async () => {
    throw forbidden();
  };
  app.post('/', { preParsing }, () => 'never');
  const { statusCode } = await app.inject({ method: 'POST', url: '/', body: { question: 'Any?' } });
  assert.equal(statusCode, 500);
  assert.doesNotThrow(() => mock.timers.tick(10_000));
  await app.close();
});
