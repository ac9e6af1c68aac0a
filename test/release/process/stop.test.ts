/** The rest of what a signal does. The usual case is in test/process/stop.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { newFolder, openConnection, root, serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

/** How long a supervisor waits before it kills the process. */
const STOP_MAX_MS = 10_000;
const GET_HEALTH = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
const HALF_A_HEAD = 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n';
const HALF_A_BODY = `${HALF_A_HEAD}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"em`;

describe('a signal', { concurrency: 3 }, () => {
  const serveEmpty = (drainSeconds = '0') =>
    serve({ DATA_DIR: newFolder(), DEMO: 'false', DRAIN_SECONDS: drainSeconds });

  it('is not delayed by requests that never arrive completely', async () => {
    const server = await serveEmpty();
    for (const bytes of [HALF_A_HEAD, HALF_A_BODY]) await openConnection(server.port, bytes);
    // After these requests, it has also read the earlier ones on other connections.
    for (let times = 0; times < 3; times += 1) await call(server.url, 'GET', '/healthz');
    const startedAt = performance.now();
    const ended = server.stop();
    await server.waitForOutput(/"stopping"/);
    await assert.rejects(openConnection(server.port), 'no newcomers while it stops');
    assert.equal((await ended).code, 0);
    const ms = performance.now() - startedAt;
    assert.ok(ms < STOP_MAX_MS, `${ms} ms`);
  });

  it('of a person (SIGINT) does not wait for proxies', async () => {
    const server = await serveEmpty('600');
    assert.equal((await server.stop('SIGINT')).code, 0);
    assert.match(server.stdout(), /"signal":"SIGINT","msg":"stopping"[\s\S]*"msg":"stopped"/);
    assert.doesNotMatch(server.stdout(), /draining/);
  });

  it('loses no connection: each is refused or served, however busy the server is when its port is closed', async () => {
    const server = await serveEmpty();
    let isOver = false;
    let served = 0;
    const lost: string[] = [];
    const requests = Array.from({ length: 60 }, async () => {
      while (!isOver) {
        const connection = await openConnection(server.port).catch(() => undefined);
        if (!connection) return;
        connection.socket.write(`${GET_HEALTH}Connection: close\r\n\r\n`);
        const reply = await connection.closed;
        connection.socket.destroy();
        if (/^HTTP\/1\.1 200 /.test(reply)) served += 1;
        else lost.push(reply);
      }
    });
    while (served < 500) await sleep(5);
    const { code } = await server.stop('SIGTERM');
    isOver = true;
    await Promise.all(requests);
    assert.deepEqual([code, lost], [0, []]);
  });

  it('to npm start also stops the server and leaves no process', async () => {
    const settings = { DATA_DIR: newFolder(), PORT: String(await freePort()), HOME: newFolder() };
    const npm = await serve(settings, ['npm', 'start'], root);
    assert.equal(npm.port, Number(settings.PORT));
    assert.equal((await call(npm.url, 'POST', '/api/v1/auth/login', { body: AURORA })).status, 200);
    await npm.stop();
    await assert.rejects(openConnection(npm.port));
    await until('npm’s process group has no members', () => {
      try {
        // Signal 0 only asks.
        return !process.kill(-npm.child.pid!, 0);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ESRCH';
      }
    });
  });
});
