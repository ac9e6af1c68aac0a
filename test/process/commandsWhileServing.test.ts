/** Commands that change what a running server does. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { attemptOf, findAccount } from '../../src/auth/attempts.ts';
import { openSession } from '../../src/auth/sessions/store.ts';
import { openVault } from '../../src/auth/vault.ts';
import { run, settingsOf } from '../support/command.ts';
import { useMerchant } from '../support/merchants.ts';
import {
  AURORA,
  addUser,
  afterReload,
  assertError,
  BOREALIS,
  login,
  me,
  OPERATOR,
  onEachEngine,
  type Reply,
  refresh,
  useDeskbell,
} from '../support/server.ts';
import { untilSomebodyWaits } from '../support/shops.ts';

describe('a command while a server runs', () => {
  const deskbell = useDeskbell('sqlite');
  const command = async (args: string[], input = '') => {
    const done = await run([...args, '--json'], { env: settingsOf(deskbell), input });
    assert.equal(done.code, 0, done.stderr);
    return done.json;
  };
  const kidOf = (token: string) => decodeProtectedHeader(token).kid;

  it('sets a new password, which ends all sessions and resets the sign-in limit', async () => {
    const { refresh_token } = (await login(deskbell, BOREALIS)).json;
    for (let failures = 0; failures < 10; failures += 1)
      await login(deskbell, { ...BOREALIS, password: 'wrong' });
    assertError(await login(deskbell, BOREALIS), 429, 'RATE_LIMITED');

    await command(['user', 'password', 'OWNER@borealis.example'], 'another quiet harbour\n');
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assertError(await login(deskbell, BOREALIS), 401, 'INVALID_CREDENTIALS');
    assert.equal((await login(deskbell, { ...BOREALIS, password: 'another quiet harbour' })).status, 200);
  });

  it('disables a user, who is signed out and cannot sign in until enabled', async () => {
    const { refresh_token, access_token } = (await login(deskbell, OPERATOR)).json;
    assert.ok((await command(['user', 'disable', OPERATOR.email])).disabled_at);
    assertError(await login(deskbell, OPERATOR), 401, 'INVALID_CREDENTIALS');
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assertError(await me(deskbell, access_token), 401, 'INVALID_TOKEN');

    assert.equal((await command(['user', 'enable', OPERATOR.email])).disabled_at, null);
    assert.equal((await login(deskbell, OPERATOR)).status, 200);
    assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
  });

  it('rotates the key: it signs new tokens, and old tokens stay valid until the key is revoked', async () => {
    const old = (await login(deskbell, AURORA)).json;
    const { kid } = await command(['keys', 'rotate']);
    const hasNewKey = (reply: Reply) => kidOf(reply.json.access_token) === kid;
    const fresh = (await afterReload(deskbell, () => login(deskbell, AURORA), hasNewKey)).json;
    assert.equal(kidOf(fresh.refresh_token), kid);
    assert.equal((await me(deskbell, old.access_token)).status, 200);
    assert.equal(kidOf((await refresh(deskbell, old.refresh_token)).json.access_token), kid);
    const { keys } = (await deskbell.call('GET', '/.well-known/jwks.json')).json;
    const kids = keys.map((key: { kid: string }) => key.kid);
    assert.deepEqual(kids, [kid, kidOf(old.access_token)]);

    await command(['keys', 'rotate', '--revoke']);
    const callWithOldToken = () => me(deskbell, fresh.access_token);
    const refused = await afterReload(deskbell, callWithOldToken, ({ status }) => status === 401);
    assertError(refused, 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, fresh.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await me(deskbell, await deskbell.signIn())).status, 200);
  });

  it('doctor reports the server, an old key, and a slow clock', async () => {
    const monthsAgo = new Date(Date.now() - 200 * 86_400_000).toISOString();
    await deskbell.database.run('update signing_keys set created_at = $1', [monthsAgo]);
    const env = { ...settingsOf(deskbell), PORT: new URL(deskbell.url).port };
    const seen = await run(['doctor'], { env });
    assert.match(seen.stdout, /✔ Deskbell responds at http:\/\/127\.0\.0\.1:\d+\./);
    assert.match(seen.stdout, /! The signing key is 200 days old\.\n +Run "npm run deskbell -- keys rotate"/);
    // The server's clock is now a minute ahead of this machine's, and so are the latest sign-ins.
    assert.match(seen.stdout, /✖ The clock is \d+ seconds behind the newest entry of the database/);
    assert.equal(seen.code, 1);
  });
});

onEachEngine('an account that changes during a sign-in', (engine) => {
  const shop = useMerchant(engine);

  for (const change of [`password_hash = 'another'`, `second_factor_at = '2026-01-01T00:00:00.000Z'`])
    it(`opens no session with what was checked before: ${change}`, async () => {
      const { database, clock, config } = shop.deskbell;
      const user = await addUser(shop.deskbell);
      const attempt = attemptOf(user.email, '127.0.0.1', clock.now(), openVault(config));
      const { account } = await findAccount(database, attempt);
      const session = {
        ...{ id: randomUUID(), userId: user.id, passwordHash: account!.password_hash, perUser: 20 },
        ...{ secondFactorAt: null, expiresAt: clock.now(), address: '127.0.0.0/24', device: null },
      };
      let opening: Promise<boolean> | undefined;
      await database.transaction(async (tx) => {
        await tx.run(`update users set ${change} where id = $1`, [user.id]);
        opening = openSession(database, session, attempt, { isKnown: false, isPasskey: false });
        if (engine === 'postgres') await untilSomebodyWaits(database, tx);
      });
      assert.equal(await opening, false);
    });
});
