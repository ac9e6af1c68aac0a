import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type Database, DatabaseProblem, type Engine } from './database.ts';
import { statementSumOf } from './oldChecksums.ts';
import { canonicalText, splitStatements } from './statements.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);

type Reads = Pick<Database, 'engine' | 'all' | 'one'>;

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

/** Forward only. If several processes start at the same time, one migrates while the others wait. */
export async function migrate(
  database: Database,
  now: () => Date,
  folder: URL = FOLDER,
  /** For a copy of a database that has only these. */
  upTo = Number.POSITIVE_INFINITY,
): Promise<MigrationStatus[]> {
  return database.exclusively('migrate', async () => {
    const applied: MigrationStatus[] = [];
    for (const { version, name, sql, checksum } of await pending(database, folder)) {
      if (version > upTo) break;
      const appliedAt = now().toISOString();
      // A script is one transaction: a migration that fails leaves nothing behind.
      await database.script(
        `${sql}
        insert into schema_migrations (version, name, checksum, applied_at)
          values (${version}, '${name}', '${checksum}', '${appliedAt}');`,
      );
      applied.push({ version, name, applied_at: appliedAt });
    }
    return applied;
  });
}

export async function migrationStatus(database: Reads): Promise<MigrationStatus[]> {
  const known = readMigrations(database.engine, FOLDER);
  const applied = await appliedMigrations(database, known);
  const done = new Map(applied.map((row) => [row.version, row.applied_at]));
  return known.map(({ version, name }) => ({
    version,
    name,
    applied_at: done.get(version) ?? null,
  }));
}

async function pending(database: Database, folder: URL): Promise<Migration[]> {
  await database.script(
    `create table if not exists schema_migrations (
      version integer primary key, name text not null, checksum text not null, applied_at text not null
    );`,
  );
  const known = readMigrations(database.engine, folder);
  const applied = await appliedMigrations(database, known);
  return known.filter(({ version }) => !applied.some((row) => row.version === version));
}

/** Refuses a database that this version does not know. */
async function appliedMigrations(database: Reads, known: readonly Migration[]) {
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
    if (migration.checksum !== statementSumOf(row.checksum, database.engine)) {
      throw new DatabaseProblem(
        `Migration ${row.version}_${row.name} was changed after it was applied. Restore its file.`,
      );
    }
  }
  return applied;
}

function readMigrations(engine: Engine, folder: URL): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = forEngine(readFileSync(new URL(file, folder), 'utf8'), engine);
      return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), sql, checksum: checksumOf(sql) };
    });
}

/** Covers only the statements: comments and white space may change after a migration was applied. */
const checksumOf = (sql: string): string =>
  createHash('sha256').update(splitStatements(sql).map(canonicalText).join(';\n')).digest('hex').slice(0, 16);

/** `-- @sqlite` and `-- @postgres` start lines for that engine only, `-- @both` ends them. */
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
