import { VERSION } from '../version.ts';
import { type Database, DatabaseProblem } from './database.ts';
import { statementSumOf } from './oldChecksums.ts';
import { MIGRATION_SETTINGS } from './spread/keys.ts';
import { finishChanges } from './upgrade/changes.ts';
import { MIGRATIONS, type Migration, readMigrations } from './upgrade/files.ts';
import { compareVersions } from './upgrade/versions.ts';

export interface MigrationStatus {
  version: number;
  name: string;
  applied_at: string | null;
  /** Applied by a newer program. This one can use the database nevertheless. */
  newer?: true;
}

/** As in the folder: 0030_erasure. */
export const fileNameOf = ({ version, name }: Pick<MigrationStatus, 'version' | 'name'>): string =>
  `${String(version).padStart(4, '0')}_${name}`;

type Reads = Pick<Database, 'engine' | 'all' | 'one'>;
type AppliedMigration = MigrationStatus & { checksum: string; applied_at: string };

/** The migration that adds `schema_migrations.supports` and `background_changes`. */
const FIRST_WITH_SUPPORT = 28;

/**
 * Forward only. If several processes start at the same time, one migrates while the others wait. A process that has
 * nothing to do does not wait: an old server can restart while a new one migrates.
 */
export async function migrate(
  database: Database,
  now: () => Date,
  folder: URL = MIGRATIONS,
  /** For a copy of a database that has only these. */
  upTo = Number.POSITIVE_INFINITY,
): Promise<MigrationStatus[]> {
  if ((await pendingMigrations(database, folder)).length === 0) return [];
  return database.exclusively('migrate', async () => {
    await database.script(
      `create table if not exists schema_migrations (
        version integer primary key, name text not null, checksum text not null, applied_at text not null
      );`,
    );
    const applied: MigrationStatus[] = [];
    for (const migration of await pendingMigrations(database, folder)) {
      if (migration.version > upTo) break;
      if (migration.kind === 'contract') await finishChanges(database, folder, now);
      applied.push(await apply(database, migration, now().toISOString()));
    }
    return applied;
  });
}

/** Its last part is one transaction and records it. A migration that fails can be run again. */
async function apply(database: Database, migration: Migration, appliedAt: string): Promise<MigrationStatus> {
  const { version, name, sql, indexes, background, checksum, supports } = migration;
  const support = supports === undefined ? ['', ''] : [', supports', `, '${supports}'`];
  const later = background
    ? `insert into background_changes (migration, created_at) values (${version}, '${appliedAt}');`
    : '';
  await database.script(
    `${database.isSpread ? MIGRATION_SETTINGS : ''}
    ${sql}
    ${later}
    insert into schema_migrations (version, name, checksum, applied_at${support[0]})
      values (${version}, '${name}', '${checksum}', '${appliedAt}'${support[1]});`,
    indexes,
  );
  return { version, name, applied_at: appliedAt };
}

/** Throws if this program cannot use the database. */
export async function migrationStatus(database: Reads, folder: URL = MIGRATIONS): Promise<MigrationStatus[]> {
  const known = readMigrations(database.engine, folder);
  const applied = await appliedMigrations(database, known);
  const done = new Map(applied.map((row) => [row.version, row.applied_at]));
  return [
    ...known.map(({ version, name }) => ({ version, name, applied_at: done.get(version) ?? null })),
    ...applied
      .filter(({ version }) => !known.some((migration) => migration.version === version))
      .map(({ version, name, applied_at }) => ({ version, name, applied_at, newer: true as const })),
  ];
}

async function pendingMigrations(database: Reads, folder: URL): Promise<Migration[]> {
  const known = readMigrations(database.engine, folder);
  const applied = await appliedMigrations(database, known);
  return known.filter(({ version }) => !applied.some((row) => row.version === version));
}

async function appliedMigrations(database: Reads, known: readonly Migration[]): Promise<AppliedMigration[]> {
  const exists = await database.one(
    database.engine === 'sqlite'
      ? `select 1 from sqlite_master where name = 'schema_migrations'`
      : `select 1 from pg_class where oid = to_regclass('schema_migrations')`,
  );
  if (!exists) return [];
  const applied = await database.all<AppliedMigration>(
    'select version, name, checksum, applied_at from schema_migrations order by version',
  );
  const unknown: AppliedMigration[] = [];
  for (const row of applied) {
    const migration = known.find(({ version }) => version === row.version);
    if (!migration) {
      unknown.push(row);
    } else if (migration.checksum !== statementSumOf(row.checksum, database.engine)) {
      throw new DatabaseProblem(
        `Migration ${fileNameOf(row)} was changed after it was applied. Restore its file.`,
      );
    }
  }
  if (unknown.length > 0) {
    const saysIt = applied.some(({ version }) => version === FIRST_WITH_SUPPORT);
    await refuseTooNew(database, unknown, saysIt);
  }
  return applied;
}

/** Each migration of a newer program says which older ones can still use the database. */
async function refuseTooNew(
  database: Reads,
  unknown: readonly MigrationStatus[],
  saysIt: boolean,
): Promise<void> {
  const rows = saysIt
    ? await database.all<{ version: number; supports: string | null }>(
        'select version, supports from schema_migrations',
      )
    : [];
  const supports = new Map(rows.map((row) => [row.version, row.supports]));
  for (const { version, name } of unknown) {
    const oldest = supports.get(version);
    if (oldest && compareVersions(VERSION, oldest) >= 0) continue;
    const needs = oldest ? `, which needs at least Deskbell ${oldest}` : '';
    throw new DatabaseProblem(
      `The database is newer than this Deskbell (${VERSION}): it has migration ${fileNameOf({ version, name })}${needs}. Upgrade Deskbell.`,
    );
  }
}
