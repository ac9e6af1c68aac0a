import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDemoDatabase, engines } from '../support/databases.ts';
import { listen } from '../support/listening.ts';
import { openConnection, type Serving, serve } from '../support/process.ts';
import { AURORA, assertError, call, NOTIFICATIONS, QUESTION } from '../support/server.ts';
import { until } from '../support/shops.ts';

const GET_HEALTH = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
const signIn = ({ url }: Serving) => call(url, 'POST', '/api/v1/auth/login', { body: AURORA });

describe('a server that gets SIGTERM', () => {
  it('is not ready while it drains, and serves everything else until a second signal', async () => {
    const database = await createDemoDatabase('sqlite', 'weak');
    const server = await serve({ ...database.env, DRAIN_SECONDS: '600' });
    const { access_token: token } = (await signIn(server)).json;
    const stream = await listen(server, token);
    const connection = await openConnection(server.port, GET_HEALTH);
    await connection.until(/connection: keep-alive[\s\S]*"ok"/i);
    assert.equal((await call(server.url, 'GET', '/readyz')).status, 200);
    server.child.kill('SIGTERM');
    await server.waitForOutput(/"seconds":600,"msg":"draining"/);

    assertError(await call(server.url, 'GET', '/readyz'), 503, 'SERVICE_UNAVAILABLE');
    assert.equal((await call(server.url, 'GET', '/healthz')).status, 200);
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    assert.equal(raised.status, 200);
    await stream.next('inbox');
    assert.equal(stream.hasEnded(), false);
    // A connection is closed with its next response, and not before.
    assert.equal(connection.socket.readableEnded, false);
    connection.socket.write(GET_HEALTH);
    assert.match(await connection.closed, /connection: close[\s\S]*"ok"/i);
    connection.socket.destroy();
    stream.stop();
    assert.equal((await server.stop('SIGTERM')).code, 1);
    await database.remove();
  });

  it('then finishes requests, answers calls that wait, ends streams with a hint, and exits with code 0', async () => {
    const database = await createDemoDatabase(engines.at(-1)!);
    const server = await serve(database.env);
    const { access_token: token } = (await signIn(server)).json;
    const idle = await openConnection(server.port, GET_HEALTH);
    await idle.until(/"ok"/);
    const stream = await listen(server, token);
    const { last_id } = (await call(server.url, 'GET', '/api/v1/events/log', { token })).json;
    const log = call(server.url, 'GET', `/api/v1/events/log?after=${last_id}&wait=45`, { token });
    await until('it waits', async () =>
      /^deskbell_waiting_requests 1$/m.test((await call(server.url, 'GET', '/metrics')).text),
    );
    // Only a few passwords are hashed at a time, so the last of these waits for the others.
    const signIns = Array.from({ length: 8 }, () => signIn(server));
    await Promise.race(signIns);
    const ended = server.stop('SIGTERM');
    for (const { status } of await Promise.all([...signIns, log])) assert.equal(status, 200);
    await stream.ended;
    assert.match(stream.text(), /\nretry: \d{1,4}\n\n$/);
    assert.equal((await ended).code, 0);
    await assert.rejects(openConnection(server.port), { code: 'ECONNREFUSED' });
    assert.match(server.stdout(), /"signal":"SIGTERM","msg":"stopping"[\s\S]*"msg":"stopped"/);
    assert.equal(server.stderr(), '');
    await database.remove();
  });
});
