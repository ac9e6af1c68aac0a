import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { NOTIFICATIONS, onEachEngine, outcome, useDeskbell } from '../support/server.ts';

onEachEngine('a path', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });

  it('returns 404 if it does not exist, also in another version of the API', async () => {
    for (const path of [
      '/api',
      '/api/v1',
      '/api/notification/',
      '/api/v2/notification/',
      '/api/v1.0/notification/',
      '/API/V1/notification/',
      '/notification/',
      `${NOTIFICATIONS}s/`,
      `${NOTIFICATIONS}/9/other`,
      `${NOTIFICATIONS}/9/answer/again`,
      '/%ZZ',
    ]) {
      for (const bearer of [token, undefined]) {
        const reply = await deskbell.call('GET', path, { token: bearer });
        const nothing = { status: 404, detail: 'This path does not exist.', code: 'NOT_FOUND' };
        assert.deepEqual(outcome(reply), nothing, path);
        assert.ok(reply.headers.get('x-request-id'));
      }
    }
  });

  it('returns 405 for an unsupported method and lists the supported ones', async () => {
    const addresses: [path: string, allowed: string[]][] = [
      [NOTIFICATIONS, ['GET', 'HEAD']],
      [`${NOTIFICATIONS}/`, ['GET', 'HEAD']],
      [`${NOTIFICATIONS}/request`, ['POST']],
      [`${NOTIFICATIONS}/9`, ['DELETE', 'GET', 'HEAD']],
      [`${NOTIFICATIONS}/9/answer`, ['POST']],
    ];
    for (const [path, allowed] of addresses) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        if (allowed.includes(method)) continue;
        const reply = await deskbell.call(method, path, { token });
        const list = allowed.join(', ');
        assert.deepEqual(
          outcome(reply),
          { status: 405, detail: `This path accepts ${list}.`, code: 'METHOD_NOT_ALLOWED' },
          `${method} ${path}`,
        );
        assert.equal(reply.headers.get('allow'), list);
      }
    }
    assert.equal((await deskbell.call('GET', `${NOTIFICATIONS}/9`, { token })).status, 200);
  });
});
