import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERVER } from '../../../src/audit/record.ts';
import { disableUser } from '../../../src/auth/users.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import {
  AURORA,
  assertError,
  type Deskbell,
  login,
  onEachEngine,
  refresh,
  startDeskbell,
} from '../../support/server.ts';

const users = (deskbell: Deskbell, headers: Record<string, string> = {}) =>
  deskbell.call('GET', '/session/demo', {
    headers: { 'x-deskbell-dashboard': '1', 'sec-fetch-site': 'same-origin', ...headers },
  });

describe('the list of the demo’s users', () => {
  it('is only for callers on the same machine, while they exist and have their demo passwords', async () => {
    const deskbell = await startDeskbell('sqlite', { TRUST_PROXY: '1' });
    try {
      const all = await users(deskbell);
      assert.equal(all.status, 200, all.text);
      assert.deepEqual(Object.keys(all.json.users[0]).sort(), ['about', 'email', 'password', 'role']);
      for (const { email, password } of all.json.users) await deskbell.signIn(email, password);
      // Not for visitors of a proxy on the same machine.
      for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-forwarded-proto', 'via'])
        assertError(await users(deskbell, { [header]: '127.0.0.1' }), 404, 'NOT_FOUND');
      await disableUser(deskbell.database, 1, deskbell.clock.now(), SERVER);
      assert.equal((await users(deskbell)).json.users.length, all.json.users.length - 1);
      await deskbell.database.run(
        `update users set password_hash = (select password_hash from users where id = 2) where id = 3`,
      );
      const left = (await users(deskbell)).json.users;
      assert.deepEqual(
        left.map(({ email }: { email: string }) => email),
        ['owner@borealis.example'],
      );
      await deskbell.database.run('update users set disabled_at = created_at');
      assertError(await users(deskbell), 404, 'NOT_FOUND');
    } finally {
      await deskbell.close();
    }
  });
});

onEachEngine('the demo’s users', (engine) => {
  // The rule reads the settings, the same ones for both databases.
  const settings = engine === 'sqlite' ? { NODE_ENV: 'production' } : { HOST: '0.0.0.0' };
  it('are disabled at the start where others can reach the server, except for one with an own password', async () => {
    const testDatabase = await createDemoDatabase(engine, 'weak');
    const demo = await startDeskbell(engine, {}, testDatabase);
    const { refresh_token } = (await login(demo)).json;
    await demo.database.run(
      `update users set password_hash = (select password_hash from users where id = 1) where id = 2`,
    );
    await demo.close();
    const deskbell = await startDeskbell(engine, { DEMO: 'false', ...settings }, testDatabase);
    try {
      assertError(await users(deskbell), 404, 'NOT_FOUND');
      assertError(await login(deskbell), 401, 'INVALID_CREDENTIALS');
      assertError(await refresh(deskbell, refresh_token), 401, 'INVALID_TOKEN');
      assert.equal((await login(deskbell, { ...AURORA, email: 'owner@borealis.example' })).status, 200);
      const warning = deskbell.logged.find((line) => line.includes('demo users disabled'))!;
      assert.equal(JSON.parse(warning).users, `${AURORA.email}, operator@deskbell.example`);
    } finally {
      await deskbell.close();
      await testDatabase.remove();
    }
  });
});
