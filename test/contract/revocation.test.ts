import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt, decodeProtectedHeader, type JWTHeaderParameters, SignJWT } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { rotateKeys } from '../../src/auth/keys.ts';
import { endSession } from '../../src/auth/sessions/store.ts';
import { disableUser, enableUser, setPassword } from '../../src/auth/users.ts';
import { openVault } from '../../src/auth/vault.ts';
import { serverKey } from '../release/faults/tokens/forgeries.ts';
import { run, settingsOf } from '../support/command.ts';
import { createTestDatabase } from '../support/databases.ts';
import { type Listener, listen } from '../support/listening.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  login,
  logout,
  me,
  NOTIFICATIONS,
  onEachEngine,
  refresh,
  startDeskbell,
  startSecondServer,
  useDeskbell,
} from '../support/server.ts';

/** Generous, for a busy machine. `npm run test:faults` measures the real time, which is below a second. */
const WAIT_MAX_MS = 30_000;

type User = Awaited<ReturnType<typeof addUser>>;
interface SignedIn {
  access_token: string;
  refresh_token: string;
}

/** What ends a user's access tokens. */
const WAYS: Record<string, (deskbell: Deskbell, user: User, tokens: SignedIn) => Promise<unknown>> = {
  'signing out': (deskbell, _user, { refresh_token }) => logout(deskbell, refresh_token),
  'a new password': async ({ database, clock }, { id }) => {
    const other = await database.one<{ password_hash: string }>(
      'select password_hash from users where id = 2',
    );
    await setPassword(database, id, other!.password_hash, clock.now(), SERVER);
  },
  'disabling the user': ({ database, clock }, { id }) => disableUser(database, id, clock.now(), SERVER),
  'revoking the keys': ({ database, config, clock }) =>
    rotateKeys(database, openVault(config), clock.now(), { revoke: true }, SERVER),
};

/** Resolves when the token is INVALID_TOKEN for every endpoint, and its stream has ended. */
async function assertEnds(deskbell: Deskbell, token: string, stream?: Listener): Promise<void> {
  const deadline = Date.now() + WAIT_MAX_MS;
  // Not `me`, which looks for disabled users in the database.
  const list = () => deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
  while ((await list()).status === 200 && Date.now() < deadline) await sleep(20);
  assertError(await list(), 401, 'INVALID_TOKEN');
  assertError(await me(deskbell, token), 401, 'INVALID_TOKEN');
  if (!stream) return;
  const ended = await Promise.race([stream.ended.then(() => true), sleep(deadline - Date.now() + 500)]);
  stream.stop();
  assert.equal(ended, true, 'the stream is still open');
}

onEachEngine('revoked access', (engine) => {
  const deskbell = useDeskbell(engine);

  for (const [way, revoke] of Object.entries(WAYS)) {
    it(`${way} ends access tokens that were used before, and event streams`, async () => {
      const user = await addUser(deskbell);
      const tokens = (await login(deskbell, user)).json;
      const stream = await listen(deskbell, tokens.access_token);
      await revoke(deskbell, user, tokens);
      await assertEnds(deskbell, tokens.access_token, stream);
      assertError(await refresh(deskbell, tokens.refresh_token), 401, 'INVALID_TOKEN');
      assertError(await logout(deskbell, tokens.refresh_token), 401, 'INVALID_TOKEN');
    });
  }

  it('a new password ends all sessions of its user and the old password, and nothing of another user', async () => {
    const user = await addUser(deskbell);
    const sessions = [(await login(deskbell, user)).json, (await login(deskbell, user)).json];
    const stranger = (await login(deskbell)).json;
    await WAYS['a new password']!(deskbell, user, sessions[0]);
    for (const { refresh_token } of sessions)
      assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await refresh(deskbell, stranger.refresh_token)).status, 200);
    assertError(await login(deskbell, user), 401, 'INVALID_CREDENTIALS');
    assert.equal((await login(deskbell, { ...BOREALIS, email: user.email })).status, 200);
  });

  it('signing out ends the access tokens of that session, of every age, and of no other session', async () => {
    const [one, other] = [(await login(deskbell)).json, (await login(deskbell)).json];
    const renewed = (await refresh(deskbell, one.refresh_token)).json;
    const stream = await listen(deskbell, other.access_token);
    await logout(deskbell, one.refresh_token);
    // At once: the server that ended the session knows it already.
    for (const token of [one.access_token, renewed.access_token]) {
      assertError(await me(deskbell, token), 401, 'INVALID_TOKEN');
    }
    assert.equal((await me(deskbell, other.access_token)).status, 200);
    assert.equal((await refresh(deskbell, other.refresh_token)).status, 200);
    await sleep(100);
    assert.ok(!stream.hasEnded(), 'the other session’s stream has ended');
    stream.stop();
  });

  it('an enabled user signs in again in the same second; the old tokens and sessions stay invalid', async () => {
    const user = await addUser(deskbell);
    const old = (await login(deskbell, user)).json;
    deskbell.clock.stop();
    try {
      await disableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
      await enableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
      const fresh = (await login(deskbell, user)).json;
      await assertEnds(deskbell, old.access_token);
      assertError(await refresh(deskbell, old.refresh_token), 401, 'INVALID_TOKEN');
      assert.equal((await me(deskbell, fresh.access_token)).status, 200);
    } finally {
      deskbell.clock.go();
    }
  });

  it('a token from before the upgrade, which names no session, ends with its user’s sessions', async () => {
    const user = await addUser(deskbell);
    const { access_token } = (await login(deskbell, user)).json;
    const header = decodeProtectedHeader(access_token) as JWTHeaderParameters;
    const { key } = await serverKey(deskbell, header.kid!);
    const withoutSession = (issuedAt: number) => {
      const { sid: _sid, ...claims } = decodeJwt(access_token);
      return new SignJWT({ ...claims, iat: issuedAt }).setProtectedHeader(header).sign(key);
    };
    const { iat } = decodeJwt(access_token);
    const [before, after] = [await withoutSession(iat!), await withoutSession(iat! + 100)];
    assert.equal((await me(deskbell, before)).status, 200);
    const stream = await listen(deskbell, before);
    await disableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    await enableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    await assertEnds(deskbell, before, stream);
    assert.equal((await me(deskbell, after)).status, 200);
  });

  it('a transaction that commits after others with higher ids is noticed', async () => {
    const [late, early] = [(await login(deskbell)).json, (await login(deskbell)).json];
    const { jti, sub } = decodeJwt(late.refresh_token);
    await deskbell.database.transaction(async (tx) => {
      assert.ok(await endSession(tx, Number(sub), String(jti), deskbell.clock.now()));
      // SQLite runs one transaction at a time.
      if (engine === 'sqlite') return;
      await logout(deskbell, early.refresh_token);
      assertError(await me(deskbell, early.access_token), 401, 'INVALID_TOKEN');
    });
    await assertEnds(deskbell, late.access_token);
  });

  it('a command in another process ends the tokens and streams of a running server', async () => {
    const user = await addUser(deskbell);
    // It reaches both engines in its own way, whatever it ends.
    const args = engine === 'sqlite' ? ['keys', 'rotate', '--revoke'] : ['user', 'disable', user.email];
    const { access_token } = (await login(deskbell, user)).json;
    const stream = await listen(deskbell, access_token);
    const { code, stderr } = await run(args, { env: settingsOf(deskbell) });
    assert.equal(code, 0, stderr);
    await assertEnds(deskbell, access_token, stream);
    assert.equal((await me(deskbell, await deskbell.signIn())).status, 200);
  });

  it('a server that starts knows what was revoked before', async () => {
    const testDatabase = await createTestDatabase(engine);
    try {
      const before = await startDeskbell(engine, {}, testDatabase);
      const { access_token, refresh_token } = (await login(before)).json;
      await logout(before, refresh_token).finally(() => before.close());
      const after = await startDeskbell(engine, {}, testDatabase);
      const reply = await me(after, access_token).finally(() => after.close());
      assertError(reply, 401, 'INVALID_TOKEN');
    } finally {
      await testDatabase.remove();
    }
  });

  it('access ends in every process', { skip: engine === 'sqlite' && 'has one server' }, async () => {
    const second = await startSecondServer(deskbell);
    try {
      for (const revoke of Object.values(WAYS)) {
        const user = await addUser(deskbell);
        const tokens = (await login(deskbell, user)).json;
        const stream = await listen(second, tokens.access_token);
        await revoke(deskbell, user, tokens);
        await assertEnds(second, tokens.access_token, stream);
      }
    } finally {
      await second.close();
    }
  });
});
