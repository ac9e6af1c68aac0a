import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readConfig } from '../../../src/config.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { root } from '../../support/command.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { onEachEngine } from '../../support/server.ts';

onEachEngine('roles', (engine) => {
  it('an upgrade makes the first user of each merchant who can sign in its owner', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-migrations-'));
    const testDatabase = await createTestDatabase(engine);
    const database = await openDatabase(readConfig(testDatabase.env), 'command');
    const now = () => new Date();
    try {
      cpSync(join(root, 'migrations'), folder, { recursive: true });
      for (const file of readdirSync(folder)) if (file >= '0012') rmSync(join(folder, file));
      await migrate(database, now, pathToFileURL(`${folder}/`));
      for (const name of ['First', 'Second', 'Third'])
        await database.run('insert into merchants (name, created_at) values ($1, $2)', [name, '2026']);
      const users: [email: string, merchant: number | null, role: string, disabled: string | null][] = [
        ['first@1', 1, 'user', null],
        ['second@1', 1, 'user', null],
        ['disabled@2', 2, 'user', '2026'],
        ['first@2', 2, 'user', null],
        ['disabled@3', 3, 'user', '2026'],
        ['operator', null, 'admin', null],
      ];
      for (const [email, ...rest] of users) {
        await database.run(
          `insert into users (email, email_key, name, password_hash, created_at, merchant_id, role, disabled_at)
            values ($1, $1, 'Name', '-', '2026', $2, $3, $4)`,
          [email, ...rest],
        );
      }
      await migrate(database, now);
      assert.deepEqual(
        (
          await database.all<{ email: string; role: string }>('select email, role from users order by id')
        ).map(({ email, role }) => [email, role]),
        [
          ['first@1', 'owner'],
          ['second@1', 'user'],
          ['disabled@2', 'user'],
          ['first@2', 'owner'],
          ['disabled@3', 'owner'],
          ['operator', 'admin'],
        ],
      );
    } finally {
      await database.close();
      await testDatabase.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
