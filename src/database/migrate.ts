import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type Database, DatabaseProblem, type Engine } from './database.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);

interface Migration {
  version: number;
  name: string;
  sql: string;
  checksum: string;
}

export interface MigrationStatus {
  version: number;
  name: string;
  applied_at: string | null;
}

/** Forward only. Several processes may start at once: one migrates, the others wait and find it done. */
export async function migrate(database: Database, now: () => Date): Promise<MigrationStatus[]> {
  return database.exclusively('migrate', async () => {
    const applied: MigrationStatus[] = [];
    for (const migration of await pending(database)) {
      const appliedAt = now().toISOString();
      // One script is one transaction on both engines: a migration that fails leaves nothing behind.
      await database.script(
        `begin;
        ${migration.sql}
        insert into schema_migrations (version, name, checksum, applied_at)
          values (${migration.version}, '${migration.name}', '${migration.checksum}', '${appliedAt}');
        commit;`,
      );
      applied.push({ version: migration.version, name: migration.name, applied_at: appliedAt });
    }
    return applied;
  });
}

export async function migrationStatus(database: Database): Promise<MigrationStatus[]> {
  const known = readMigrations(database.engine);
  const applied = await appliedMigrations(database, known);
  const done = new Map(applied.map((row) => [row.version, row.applied_at]));
  return known.map(({ version, name }) => ({
    version,
    name,
    applied_at: done.get(version) ?? null,
  }));
}

async function pending(database: Database): Promise<Migration[]> {
  await database.script(
    `create table if not exists schema_migrations (
      version integer primary key, name text not null, checksum text not null, applied_at text not null
    );`,
  );
  const known = readMigrations(database.engine);
  const applied = await appliedMigrations(database, known);
  return known.filter(({ version }) => !applied.some((row) => row.version === version));
}

/** Refuses a database that this version does not know. */
async function appliedMigrations(database: Database, known: readonly Migration[]) {
  const exists = await database.one(
    database.engine === 'sqlite'
      ? `select 1 from sqlite_master where name = 'schema_migrations'`
      : `select 1 from pg_class where oid = to_regclass('schema_migrations')`,
  );
  if (!exists) return [];
  const applied = await database.all<MigrationStatus & { checksum: string; applied_at: string }>(
    'select version, name, checksum, applied_at from schema_migrations order by version',
  );
  for (const row of applied) {
    const migration = known.find(({ version }) => version === row.version);
    if (!migration) {
      throw new DatabaseProblem(
        `The database is newer than this Deskbell: it has migration ${row.version}_${row.name}. Upgrade Deskbell.`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new DatabaseProblem(
        `Migration ${row.version}_${row.name} was changed after it was applied. Restore its file.`,
      );
    }
  }
  return applied;
}

function readMigrations(engine: Engine): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, FOLDER), 'utf8');
      return {
        version: Number(file.slice(0, 4)),
        name: file.slice(5, -4),
        sql: forEngine(text, engine),
        checksum: createHash('sha256').update(text).digest('hex').slice(0, 16),
      };
    });
}

/** `-- @sqlite` and `-- @postgres` begin lines for that engine alone, `-- @both` ends them. */
export function forEngine(text: string, engine: Engine): string {
  let section = 'both';
  return text
    .split('\n')
    .filter((line) => {
      const marker = /^\s*-- @(sqlite|postgres|both)\s*$/.exec(line)?.[1];
      if (marker) section = marker;
      return !marker && (section === 'both' || section === engine);
    })
    .join('\n');
}
