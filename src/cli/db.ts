import { recordMigrations } from '../audit/record.ts';
import type { Database } from '../database/database.ts';
import { fileNameOf, type MigrationStatus, migrate, migrationStatus } from '../database/migrate.ts';
import { hasCitus, spreadCounts } from '../database/spread/status.ts';
import { listChanges } from '../database/upgrade/changes.ts';
import { databaseVersion } from '../database/vitals.ts';
import { VERSION } from '../version.ts';
import { command, PROGRAM } from './command.ts';
import { changeProgress, withBareDatabase } from './database.ts';
import { command as distribute, spreadText } from './distribute.ts';
import { count, createTable, minute } from './terminal.ts';
import { COMMAND_LINE } from './who.ts';

const NOT_SPREAD = `Citus is installed, but the tables are not spread: see "${PROGRAM} db distribute --help".`;

export const commands = {
  migrate: command({
    about: 'Create or upgrade the tables',
    details: 'The server also does this when it starts.',
    run: async () => {
      const applied = await withBareDatabase(
        async (database) => {
          const done = await migrate(database, () => new Date());
          await recordMigrations(database, done, COMMAND_LINE, new Date());
          return done;
        },
        { make: true },
      );
      return {
        text:
          applied.length === 0
            ? 'The database is up to date.'
            : `${count(applied.length, 'migration')} applied: ${applied.map(fileNameOf).join(', ')}.`,
        json: { applied },
      };
    },
  }),

  status: command({
    about: 'Show the database and its migrations',
    run: () =>
      withBareDatabase(async (database: Database) => {
        const version = await databaseVersion(database);
        const migrations = await migrationStatus(database);
        const pending = migrations.filter(({ applied_at }) => applied_at === null).length;
        const newer = migrations.filter((migration) => migration.newer).length;
        const changes = pending === 0 ? await listChanges(database) : [];
        const spread = await spreadCounts(database);
        const table = createTable([
          { title: 'MIGRATION', value: fileNameOf },
          {
            title: 'APPLIED (UTC)',
            value: ({ applied_at, newer }: MigrationStatus) =>
              applied_at ? `${minute(applied_at)}${newer ? ' by a newer version' : ''}` : 'pending',
          },
        ]);
        const summary = [
          pending === 0
            ? 'It is up to date.'
            : `${count(pending, 'migration')} pending. Run "${PROGRAM} db migrate" or start the server.`,
          ...(newer > 0
            ? [`It has ${count(newer, 'migration')} of a newer version. Deskbell ${VERSION} can use it.`]
            : []),
          ...changes.map(changeProgress),
          ...(spread ? [spreadText(spread)] : (await hasCitus(database)) ? [NOT_SPREAD] : []),
        ];
        return {
          text: `${version}. ${summary.join('\n')}\n\n${table(migrations)}`,
          json: {
            engine: database.engine,
            version,
            pending,
            newer,
            changes,
            spread: spread ?? null,
            migrations,
          },
        };
      }),
  }),

  distribute,
};
