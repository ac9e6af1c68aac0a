import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readConfig } from '../../../src/config.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { onEachEngine } from '../../support/server.ts';
import { createDatabaseAt, insertRow } from '../../support/upgrades/database.ts';

/** The last migration before there were owners. */
const WITHOUT_OWNERS = 11;
const DISABLED = '2026';
const USERS: readonly [email: string, merchant: number | null, disabledAt: string | null, role: string][] = [
  ['first@1', 1, null, 'owner'],
  ['second@1', 1, null, 'user'],
  ['disabled@2', 2, DISABLED, 'user'],
  ['first@2', 2, null, 'owner'],
  ['disabled@3', 3, DISABLED, 'owner'],
  ['operator', null, null, 'admin'],
];

onEachEngine('roles', (engine) => {
  it('an upgrade makes the first user of each merchant who can sign in its owner', async () => {
    const created_at = '2026';
    const testDatabase = await createDatabaseAt(engine, WITHOUT_OWNERS, async (database) => {
      for (const name of ['First', 'Second', 'Third'])
        await insertRow(database, 'merchants', { name, created_at });
      for (const [email, merchant_id, disabled_at] of USERS) {
        const role = merchant_id === null ? 'admin' : 'user';
        const user = { email, email_key: email, name: 'Name', password_hash: '-', created_at };
        await insertRow(database, 'users', { ...user, merchant_id, role, disabled_at });
      }
    });
    const database = await openDatabase(readConfig(testDatabase.env), 'command');
    try {
      await migrate(database, () => new Date());
      const found = await database.all<{ email: string; role: string }>(
        'select email, role from users order by id',
      );
      assert.deepEqual(
        found.map(({ email, role }) => [email, role]),
        USERS.map(([email, , , role]) => [email, role]),
      );
    } finally {
      await database.close();
      await testDatabase.remove();
    }
  });
});
