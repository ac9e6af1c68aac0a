import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER } from '../../../src/audit/record.ts';
import { createPasswords } from '../../../src/auth/passwords/passwords.ts';
import { setPassword } from '../../../src/auth/users.ts';
import { openConnection } from '../../support/process.ts';
import { AURORA, assertError, BOREALIS, OPERATOR, onEachEngine, useDeskbell } from '../../support/server.ts';

const PASSWORD = '/api/v1/auth/password';
const NEW = 'quiet lemon harbour';

onEachEngine('a user’s own password', (engine) => {
  const deskbell = useDeskbell(engine);
  const change = (token: string | undefined, body: unknown) =>
    deskbell.call('POST', PASSWORD, { token, body });

  it('needs the current one, and a wrong one counts as a failed sign-in', async () => {
    const token = await deskbell.signIn();
    const wrong = await change(token, { password: 'wrong', new_password: NEW });
    assertError(wrong, 403, 'FORBIDDEN', 'password');
    assertError(
      await change(undefined, { password: AURORA.password, new_password: NEW }),
      401,
      'INVALID_TOKEN',
    );
    assertError(await change(token, { new_password: NEW }), 422, 'VALIDATION_ERROR', 'password');
    for (let n = 0; n < 9; n += 1) await change(token, { password: 'wrong', new_password: NEW });
    assertError(await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA }), 429, 'RATE_LIMITED');
    await deskbell.clock.advance(15 * 60);
    await deskbell.signIn();
  });

  it('must be hard to guess, also with the names of the user and the shop', async () => {
    const token = await deskbell.signIn();
    for (const new_password of [
      'short',
      'password123456',
      'Aurora Coffee 1',
      'aurora-coffee',
      'owner@aurora.example',
    ]) {
      const reply = await change(token, { password: AURORA.password, new_password });
      assertError(reply, 422, 'VALIDATION_ERROR', 'new_password');
    }
    const same = await change(token, { password: AURORA.password, new_password: AURORA.password });
    assertError(same, 422, 'VALIDATION_ERROR', 'new_password');
    await deskbell.signIn();
  });

  it('can be changed: other sessions end, this one stays, and only the new password works', async () => {
    const [token, other] = [await deskbell.signIn(), await deskbell.signIn()];
    const reply = await change(token, { password: AURORA.password, new_password: NEW });
    assert.equal(reply.status, 200);
    assert.equal((await deskbell.call('GET', '/api/v1/auth/me', { token })).status, 200);
    const until = Date.now() + 30_000;
    let ended = false;
    while (!ended && Date.now() < until) {
      ended = (await deskbell.call('GET', '/api/v1/auth/me', { token: other })).status === 401;
    }
    assert.ok(ended);
    const old = await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA });
    assertError(old, 401, 'INVALID_CREDENTIALS');
    await deskbell.signIn(AURORA.email, NEW);
  });

  it('does not overwrite a password that the operator sets meanwhile, or survive the end of its session', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const { id } = (await deskbell.call('GET', '/api/v1/auth/me', { token })).json;
    const reset = await createPasswords(1).hash('violet paper engine');
    // The name of the shop is read between the check of the current password and that of the new one.
    const { database } = deskbell;
    const { one } = database;
    const isProved = Promise.withResolvers<void>();
    const isReset = Promise.withResolvers<void>();
    database.one = async <Row>(sql: string, params?: Parameters<typeof one>[1]) => {
      if (sql.includes('from merchants')) {
        isProved.resolve();
        await isReset.promise;
      }
      return one<Row>(sql, params);
    };
    const changing = change(token, { password: BOREALIS.password, new_password: NEW });
    await isProved.promise;
    database.one = one;
    await setPassword(deskbell.database, id, reset, deskbell.clock.now(), SERVER).finally(isReset.resolve);
    assertError(await changing, 401, 'INVALID_TOKEN');
    await deskbell.signIn(BOREALIS.email, 'violet paper engine');
  });

  it('is not changed by a request whose session ended while its body arrived', async () => {
    const { json } = await deskbell.call('POST', '/api/v1/auth/login', { body: OPERATOR });
    const body = JSON.stringify({ password: OPERATOR.password, new_password: NEW });
    const head = [
      `POST ${PASSWORD} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${json.access_token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ].join('\r\n');
    const connection = await openConnection(
      Number(new URL(deskbell.url).port),
      `${head}\r\n\r\n${body.slice(0, 5)}`,
    );
    await sleep(100);
    await deskbell.call('POST', '/api/v1/auth/logout', { body: { refresh_token: json.refresh_token } });
    connection.socket.write(body.slice(5));
    assert.match(await connection.closed, /^HTTP\/1\.1 401 /);
    await deskbell.signIn(OPERATOR.email, OPERATOR.password);
  });
});
