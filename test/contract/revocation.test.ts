import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { rotateKeys } from '../../src/auth/keys.ts';
import { endSession } from '../../src/auth/sessions/store.ts';
import { disableUser, setPassword } from '../../src/auth/users.ts';
import { openVault } from '../../src/auth/vault.ts';
import { run, settingsOf } from '../support/command.ts';
import { createTestDatabase } from '../support/databases.ts';
import { type Listener, listen } from '../support/listening.ts';
import {
  addUser,
  assertError,
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
  const tooLate = sleep(deadline - Date.now() + 500, undefined, { ref: false });
  const ended = await Promise.race([stream.ended.then(() => true), tooLate]);
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
    assert.ok(!stream.hasEnded(), 'the other session’s stream has ended');
    stream.stop();
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
