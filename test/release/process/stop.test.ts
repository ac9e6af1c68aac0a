/** The rest of what a signal does. The usual case is in test/process/stop.test.ts. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { newFolder, openConnection, root, type Serving, serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

/** How long a supervisor waits before it kills the process. */
const STOP_MAX_MS = 10_000;
const GET_HEALTH = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
const HALF_A_HEAD = 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n';
const HALF_A_BODY = `${HALF_A_HEAD}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"em`;

describe('a signal', { concurrency: 3 }, () => {
  const databases: TestDatabase[] = [];
  after(() => Promise.all(databases.map((database) => database.remove())));
  const serveDemo = async (drainSeconds = '0'): Promise<Serving> => {
    const database = await createDemoDatabase('sqlite');
    databases.push(database);
    return serve({ ...database.env, DRAIN_SECONDS: drainSeconds });
  };
  /** After these requests, the server has also read the earlier ones on other connections. */
  const untilRead = async ({ url }: Serving) => {
    for (let times = 0; times < 3; times += 1) await call(url, 'GET', '/healthz');
  };
  const timed = async <T>(work: Promise<T>): Promise<[T, ms: number]> => {
    const start = performance.now();
    return [await work, performance.now() - start];
  };

  it('is not delayed by requests that never arrive completely', async () => {
    const server = await serveDemo();
    for (const bytes of [HALF_A_HEAD, HALF_A_BODY]) await openConnection(server.port, bytes);
    await untilRead(server);
    const end = timed(server.stop());
    await server.waitForOutput(/"stopping"/);
    await assert.rejects(openConnection(server.port), 'no newcomers while it stops');
    const [{ code }, ms] = await end;
    assert.equal(code, 0);
    assert.ok(ms < STOP_MAX_MS, `${ms} ms`);
  });

  it('stops the process at once if it is the second one', async () => {
    const server = await serveDemo();
    await openConnection(server.port, HALF_A_BODY);
    await untilRead(server);
    server.child.kill('SIGTERM');
    await server.waitForOutput(/"stopping"/);
    assert.equal(server.child.exitCode, null, 'it still waits for the request');
    const [{ code }, ms] = await timed(server.stop());
    assert.equal(code, 1);
    assert.ok(ms < STOP_MAX_MS / 2, `${ms} ms`);
  });

  it('of a person (SIGINT) does not wait for proxies', async () => {
    const server = await serveDemo('600');
    assert.equal((await server.stop('SIGINT')).code, 0);
    assert.match(server.stdout(), /"signal":"SIGINT","msg":"stopping"[\s\S]*"msg":"stopped"/);
    assert.doesNotMatch(server.stdout(), /draining/);
  });

  it('loses no connection: each is refused or served, however busy the server is when its port is closed', async () => {
    const server = await serveDemo();
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
