import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase, type TestDatabase } from '../support/databases.ts';
import { listen } from '../support/listening.ts';
import { openConnection, type Serving, serve } from '../support/process.ts';
import { AURORA, assertError, call, onEachEngine } from '../support/server.ts';
import { until } from '../support/shops.ts';

const databases: TestDatabase[] = [];
after(() => Promise.all(databases.map((database) => database.remove())));

const GET_HEALTH = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** Until then a test has sent the signal that ends it. */
const LONG = '600';

async function serveDemo(engine: 'sqlite' | 'postgres', drainSeconds: string): Promise<Serving> {
  const database = await createDemoDatabase(engine);
  databases.push(database);
  return serve({ ...database.env, DRAIN_SECONDS: drainSeconds });
}

const signIn = async ({ url }: Serving) =>
  (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json;

onEachEngine('a server that gets SIGTERM', (engine) => {
  it('responds to /readyz with 503 and serves everything else while it drains', async () => {
    const server = await serveDemo(engine, LONG);
    const { access_token: token } = await signIn(server);
    const stream = await listen(server, token);
    assert.equal((await call(server.url, 'GET', '/readyz')).status, 200);
    server.child.kill('SIGTERM');
    await server.waitForOutput(/"seconds":600,"msg":"draining"/);

    assertError(await call(server.url, 'GET', '/readyz'), 503, 'SERVICE_UNAVAILABLE');
    assert.equal((await call(server.url, 'GET', '/healthz')).status, 200);
    const context = { question: 'Are you closing?' };
    const raised = await call(server.url, 'POST', '/api/v1/notification/request', {
      token,
      body: { notification_type: 'user_question_request', conversation_id: 1, context },
    });
    assert.equal(raised.status, 200);
    await stream.next('inbox');
    assert.equal(stream.hasEnded(), false);
    stream.stop();
    // A second signal does not wait.
    assert.equal((await server.stop('SIGTERM')).code, 1);
  });

  it('ends event streams with a hint to reconnect, and answers calls that wait, when it has drained', async () => {
    const server = await serveDemo(engine, '1');
    const { access_token: token } = await signIn(server);
    const stream = await listen(server, token);
    const { last_id } = (await call(server.url, 'GET', '/api/v1/events/log', { token })).json;
    const log = call(server.url, 'GET', `/api/v1/events/log?after=${last_id}&wait=45`, { token });
    await until('it waits', async () =>
      /^deskbell_waiting_requests 1$/m.test((await call(server.url, 'GET', '/metrics')).text),
    );
    const [{ code }, { status }] = await Promise.all([server.stop('SIGTERM'), log, stream.ended]);
    assert.deepEqual([code, status], [0, 200]);
    assert.match(stream.text(), /\nretry: \d{1,4}\n\n$/);
  });
});

describe('a connection', () => {
  it('is closed with the next response while the server drains, and not before', async () => {
    const server = await serveDemo('sqlite', LONG);
    const connection = await openConnection(server.port, GET_HEALTH);
    await connection.until(/"ok"/);
    assert.match(connection.received(), /connection: keep-alive/i);
    server.child.kill('SIGTERM');
    await server.waitForOutput(/"draining"/);
    assert.equal(connection.socket.readableEnded, false);
    connection.socket.write(GET_HEALTH);
    assert.match(await connection.closed, /connection: close[\s\S]*"ok"/i);
    connection.socket.destroy();
    await server.stop('SIGKILL');
  });

  it('is either refused or served, however busy the server is when its port is closed', async () => {
    const server = await serveDemo('sqlite', '0');
    let isOver = false;
    let served = 0;
    const lost: string[] = [];
    const requests = Array.from({ length: 60 }, async () => {
      while (!isOver) {
        const connection = await openConnection(server.port).catch(() => undefined);
        if (!connection) return;
        connection.socket.write(GET_HEALTH.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
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
});

it('SIGINT does not wait for proxies', async () => {
  const server = await serveDemo('sqlite', LONG);
  assert.equal((await server.stop('SIGINT')).code, 0);
  assert.doesNotMatch(server.stdout(), /draining/);
});
