import { statSync } from 'node:fs';
import type { Database } from '../../database/database.ts';
import { findHold } from '../../database/sendingHold.ts';
import { spreadCounts } from '../../database/spread/status.ts';
import { sqliteProblem } from '../../database/sqliteErrors.ts';
import { databaseFile } from '../../database/sqliteFolder.ts';
import { bad, type Check, type Finding, good, hint, withTables } from '../checks.ts';
import { PROGRAM } from '../command.ts';
import { megabytes, minute } from '../terminal.ts';
import { findKey, keysText } from './key.ts';
import { countToSend, toSendText } from './toSend.ts';

/** Reading so much takes a few seconds. */
const CHECKED_MAX_BYTES = 1_000_000_000;

const RESTORE = 'Restore a backup, and find out what damaged it: the disk, the memory, or another program.';

/** Whether the database is damaged. With `full` also if reading all of it takes long. */
const integrity =
  (full: boolean): Check =>
  async ({ config, database }) => {
    if (!database) return [];
    if (database.engine === 'postgres') return checkPostgres(database, full);
    const bytes = statSync(databaseFile(config.dataDir)).size;
    if (bytes > CHECKED_MAX_BYTES && !full) {
      return hint(
        `The database has ${megabytes(bytes)}: it was not checked for damage.`,
        `Run "${PROGRAM} doctor --full", at a quiet time.`,
      );
    }
    try {
      const [problem] = await database.all<{ integrity_check: string }>('pragma integrity_check(1)');
      if (problem?.integrity_check !== 'ok')
        return bad(`The database is damaged: ${problem?.integrity_check.replaceAll('\n', ' ')}.`, RESTORE);
      const orphan = await database.one<{ table: string; parent: string }>('pragma foreign_key_check');
      if (orphan) return bad(`A row in ${orphan.table} has no row in ${orphan.parent}.`, RESTORE);
      return good('The database is not damaged.');
    } catch (error) {
      // Some damage ends the check itself.
      return bad(`The database is damaged: ${sqliteProblem(error)}.`, RESTORE);
    }
  };

async function checkPostgres(database: Database, full: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const indexes = await database.all<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = current_schema()::regnamespace and not i.indisvalid order by 1`,
  );
  for (const { name } of indexes)
    findings.push(
      ...bad(`The index ${name} is not valid.`, `Run "reindex index concurrently ${name}" in psql.`),
    );
  const keys = await database.all<{ name: string }>(
    `select conname as name from pg_constraint
      where connamespace = current_schema()::regnamespace and not convalidated order by 1`,
  );
  for (const { name } of keys)
    findings.push(
      ...bad(
        `The constraint ${name} was not checked.`,
        'Validate it in psql: alter table … validate constraint.',
      ),
    );
  const failures = await database.one<{ count: number | null }>(
    'select checksum_failures as count from pg_stat_database where datname = current_database()',
  );
  if ((failures?.count ?? 0) > 0)
    findings.push(...bad(`PostgreSQL has read ${failures!.count} damaged pages.`, RESTORE));
  if (full && (await spreadCounts(database)))
    findings.push(
      ...hint(
        'The rows on the other nodes were not read.',
        'Run "pg_amcheck" for each node: see docs/scale.md.',
      ),
    );
  if (full) findings.push(...(await readAll(database)));
  return findings.some(({ state }) => state === 'bad')
    ? findings
    : [...good('The database is not damaged, as far as PostgreSQL knows.'), ...findings];
}

/** PostgreSQL's codes for damaged data and damaged indexes. */
const DAMAGED: ReadonlySet<string | undefined> = new Set(['XX001', 'XX002']);

const CHECKS: Readonly<Record<string, (name: string) => string>> = {
  // Also whether every row of the table is in it.
  index: (name) => `select bt_index_check('"${name}"'::regclass, true);`,
  table: (name) => `do $$ begin
    if exists (select 1 from verify_heapam('"${name}"'::regclass, true, true)) then
      raise exception using errcode = 'data_corrupted', message = 'damaged';
    end if;
  end $$;`,
};

/** Reads every table and every index. Needs the extension amcheck and the right to use it. */
async function readAll(database: Database): Promise<Finding[]> {
  const found = await database.one<{ allowed: boolean | null }>(
    `select has_function_privilege(to_regprocedure('bt_index_check(regclass, boolean)'), 'execute')
      and has_function_privilege(
        to_regprocedure('verify_heapam(regclass, boolean, boolean, text, bigint, bigint)'), 'execute') as allowed`,
  );
  if (!found?.allowed)
    return hint(
      'The tables and indexes were not read: the extension amcheck is missing, or this user may not use it.',
      'In psql, as a superuser: create extension amcheck; grant execute on all functions in schema public to …',
    );
  const parts = await database.all<{ kind: string; name: string }>(
    `select 'table' as kind, c.relname as name from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      union all select 'index', c.relname from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
        where c.relnamespace = current_schema()::regnamespace and a.amname = 'btree' and i.indisvalid
      order by 1 desc, 2`,
  );
  const findings: Finding[] = [];
  for (const { kind, name } of parts) {
    // Without a time limit.
    await database.script(CHECKS[kind]!(name)).catch((error: { code?: string }) => {
      if (!DAMAGED.has(error.code)) throw error;
      findings.push(...bad(`The ${kind} ${name} is damaged (${error.code}).`, RESTORE));
    });
  }
  return findings;
}

const hold: Check = withTables(async ({ config, database }) => {
  const held = await findHold(database);
  if (!held) return [];
  const why =
    held.reason === 'restored'
      ? `a backup${held.backup_made_at ? ` of ${minute(held.backup_made_at)} UTC` : ''} was restored`
      : held.reason === 'moved'
        ? 'this database was moved to another one, which sends its messages'
        : `an operator ran "${PROGRAM} delivery hold"`;
  const findings = bad(
    `Sending is held since ${minute(held.held_at)} UTC, because ${why}. Waiting: ${toSendText(await countToSend(database))}.`,
    held.reason === 'moved'
      ? `Use the other one. Only if you gave that up: run "${PROGRAM} delivery release".`
      : `Cancel what must not be sent again, then run "${PROGRAM} delivery release".`,
  );
  const key = await findKey(database, config);
  if (!key.fits && held.key_fingerprint !== null) {
    const own = key.fingerprint === undefined ? 'there is none' : `it has ${key.fingerprint}`;
    findings.push(
      ...bad(
        `The restored backup needs ${keysText(held.key_fingerprint.split(' '))}.`,
        `Set what is missing. Of ${key.place}: ${own}.`,
      ),
    );
  }
  return findings;
});

export const backupChecks = (full: boolean): readonly Check[] => [integrity(full), hold];
