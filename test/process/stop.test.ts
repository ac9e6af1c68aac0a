import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/services.ts';
import { createDemoDatabase, type TestDatabase } from '../support/databases.ts';
import { newFolder, openConnection, root, type Serving, serve } from '../support/process.ts';
import { AURORA, call } from '../support/server.ts';

/** How long a supervisor waits before it kills the process. */
const STOP_MAX_MS = 10_000;

const LOGIN = JSON.stringify(AURORA);
const signIn = (url: string) => call(url, 'POST', '/api/v1/auth/login', { body: LOGIN });
const HALF_A_HEAD = 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n';
const HALF_A_BODY = `${HALF_A_HEAD}Content-Type: application/json\r\nContent-Length: ${LOGIN.length}\r\n\r\n{"em`;

const databases: TestDatabase[] = [];
after(() => Promise.all(databases.map((database) => database.remove())));

async function serveDemo(): Promise<Serving> {
  const database = await createDemoDatabase('sqlite');
  databases.push(database);
  return serve(database.env);
}

async function isOpen(port: number): Promise<boolean> {
  try {
    (await openConnection(port)).socket.destroy();
    return true;
  } catch {
    return false;
  }
}

/** After these requests, the server has also read the earlier ones on other connections. */
async function untilRead({ url }: Serving): Promise<void> {
  for (let times = 0; times < 3; times += 1) await call(url, 'GET', '/healthz');
}

async function timed<T>(work: Promise<T>): Promise<[T, ms: number]> {
  const start = performance.now();
  return [await work, performance.now() - start];
}

describe('a signal', { concurrency: 3 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal} lets requests in flight finish, closes the port and exits with code 0`, async () => {
      const server = await serveDemo();
      const idle = await openConnection(server.port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await idle.until(/"ok"/);

      // Only a few passwords are hashed at a time, so the last of these waits for the others.
      let answered = 0;
      const signIns = Array.from({ length: 8 }, async () => {
        const reply = await signIn(server.url);
        answered += 1;
        return reply;
      });
      await Promise.race(signIns);
      assert.ok(answered < 8, 'some are in flight');
      const end = server.stop(signal);
      assert.deepEqual(
        (await Promise.all(signIns)).map(({ status }) => status),
        Array(8).fill(200),
      );
      // From the last answer: how long that takes depends on the machine.
      const [{ code }, ms] = await timed(end);
      assert.equal(code, 0);
      assert.ok(ms < STOP_MAX_MS / 2, `${ms} ms: idle connections delayed the stop`);
      assert.equal(await isOpen(server.port), false);
      assert.match(server.stdout(), new RegExp(`"signal":"${signal}","msg":"stopping"[^]*"msg":"stopped"`));
      assert.equal(server.stderr(), '');
    });
  }

  it('is not delayed by requests that never arrive completely', async () => {
    const server = await serveDemo();
    await openConnection(server.port, HALF_A_HEAD);
    await openConnection(server.port, HALF_A_BODY);
    await untilRead(server);
    const end = timed(server.stop());
    await server.waitForOutput(/"stopping"/);
    assert.equal(await isOpen(server.port), false, 'no newcomers while it stops');
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

  it('to npm start also stops the server and leaves no process', async () => {
    const port = await freePort();
    const settings = { DATA_DIR: newFolder(), PORT: String(port), HOME: newFolder() };
    const npm = await serve(settings, ['npm', 'start'], root);
    assert.equal(npm.port, port);
    assert.equal((await signIn(npm.url)).status, 200);
    await npm.stop();
    assert.equal(await isOpen(port), false);
    // Signal 0 checks whether npm's process group still has members. It must be empty once all have ended.
    const isEmpty = () => assert.throws(() => process.kill(-npm.child.pid!, 0), { code: 'ESRCH' });
    for (let tries = 0; tries < 100; tries += 1) {
      try {
        return isEmpty();
      } catch {
        await sleep(100);
      }
    }
    isEmpty();
  });
});
