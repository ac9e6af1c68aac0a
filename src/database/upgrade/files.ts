import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { shippedFile } from '../../installation.ts';
import type { Engine } from '../database.ts';
import { canonicalText, splitStatements } from '../statements.ts';

/**
 * A migration is `migrations/NNNN_name.sql`. Lines that begin with `-- @` say how to run it:
 *
 *   -- @expand 0.2.0         adds something that older programs ignore: those from this version on go on
 *   -- @contract 0.2.0       removes what programs from this version on no longer use
 *   -- @concurrently         contains only indexes on existing tables; PostgreSQL builds them while others write
 *   -- @background TABLE     the statement after it, up to the end, is run later, for a few rows of the table at a time
 *   -- @sqlite, @postgres    lines for that engine only, until -- @both
 */
export interface Migration {
  version: number;
  name: string;
  /** Run in one transaction. */
  sql: string;
  /** Built before, each on its own. */
  indexes: readonly string[];
  background: BackgroundStatement | undefined;
  checksum: string;
  /** Undefined for those from before version 0.2, which no older program can use. */
  kind: 'expand' | 'contract' | undefined;
  /** The oldest program that can use the database after this migration. */
  supports: string | undefined;
}

/** Changes the rows of the merchant $1 whose id is above $2, up to $3. */
export interface BackgroundStatement {
  table: string;
  sql: string;
}

export const MIGRATIONS = shippedFile('migrations/');

/** A start needs them five times, and each time costs 5 ms. They come with the program, so they do not change. */
const shipped = new Map<Engine, readonly Migration[]>();

export function readMigrations(engine: Engine, folder: URL): readonly Migration[] {
  if (folder.href !== MIGRATIONS.href) return parseAll(engine, folder);
  const known = shipped.get(engine) ?? parseAll(engine, folder);
  shipped.set(engine, known);
  return known;
}

const parseAll = (engine: Engine, folder: URL): Migration[] =>
  readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => parseMigration(file, readFileSync(new URL(file, folder), 'utf8'), engine));

export function parseMigration(file: string, text: string, engine: Engine): Migration {
  const own = forEngine(text, engine);
  const [, kind, supports] = /^-- @(expand|contract) (\d+\.\d+\.\d+)$/m.exec(text) ?? [];
  const concurrently = /^-- @concurrently$/m.test(text);
  const [sql, table, background] = own.split(/^-- @background (\w+)$/m) as [string, string?, string?];
  const [statement = ''] = splitStatements(background ?? '');
  return {
    version: Number(file.slice(0, 4)),
    name: file.slice(5, -4),
    sql: concurrently ? '' : sql,
    indexes: concurrently ? splitStatements(sql).map(withoutLeadingComments) : [],
    background: table === undefined ? undefined : { table, sql: statement },
    checksum: checksumOf(own),
    kind: kind as Migration['kind'],
    supports,
  };
}

const withoutLeadingComments = (statement: string) => statement.replace(/^(\s+|--.*\n)+/, '');

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
