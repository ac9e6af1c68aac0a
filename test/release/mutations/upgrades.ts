import { caughtBy, type Mutation } from './mutation.ts';

/** Upgrades while others work. */
export const UPGRADE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/database/migrationsGentle.test.ts', [
    {
      name: 'a migration waits for its lock while everybody waits behind it',
      file: 'src/database/upgrade/postgres.ts',
      find: 'await run(client, `set lock_timeout = ${LOCK_WAIT_MS}`);',
      replace: 'await run(client, `set lock_timeout = ${LOCK_WAIT_MS * 0}`);',
      test: 'make nobody wait for long behind a long query of somebody else',
    },
    {
      name: 'an index that a crash left invalid stays so',
      file: 'src/database/upgrade/postgres.ts',
      find: 'if (found?.valid) return;',
      replace: 'if (found) return;',
      test: 'build indexes while others write, and build those again that a crash left invalid',
    },
    {
      name: 'a server starts on a database that is too new for it',
      file: 'src/database/migrate.ts',
      find: 'if (oldest && compareVersions(VERSION, oldest) >= 0) continue;',
      replace: 'if (oldest && compareVersions(VERSION, oldest) !== undefined) continue;',
      test: 'refuse an older program if they support a newer version than this',
    },
    {
      name: 'a migration removes what a change in the background still needs',
      file: 'src/database/migrate.ts',
      find: "if (migration.kind === 'contract') await finishChanges(database, folder, now);",
      replace: "if (migration.kind === 'contract') void finishChanges;",
      test: 'finish the changes before a migration that relies on them',
    },
  ]),
];
