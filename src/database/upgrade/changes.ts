import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Queries, Transaction } from '../database.ts';
import { type BackgroundStatement, MIGRATIONS, type Migration, readMigrations } from './files.ts';

/**
 * Changes to many rows that belong to a migration, in steps of a few rows. Each step is a transaction that also writes
 * how far it got, so that it is done once, no matter who is killed when. Except on a cluster: if the coordinator fails
 * during the commit, the rows may be changed on their node, and the step is repeated.
 */
export interface ChangeStatus {
  migration: number;
  rows_done: number;
  /** About how many rows there are. Null if that is not known. */
  rows: number | null;
}

interface Progress {
  migration: number;
  merchant_id: number;
  position: number;
}

/** One merchant's rows in one transaction. Others who write the same rows wait for it. */
const ROWS_PER_STEP = 200;
const WAIT_MS = 100;

/** Undefined: nothing is left, or another worker is at it. Otherwise how many rows it looked at. */
export async function runStep(
  database: Database,
  now: () => Date,
  known: readonly Migration[],
): Promise<number | undefined> {
  const open = await openChanges(database);
  if (open.length === 0) return undefined;
  // A change of a newer program is left to workers that know it.
  for (const { migration } of open) {
    const background = known.find(({ version }) => version === migration)?.background;
    const rows = background && (await stepOf(database, migration, background, now));
    if (rows !== undefined) return rows;
  }
  return undefined;
}

const stepOf = (
  database: Database,
  migration: number,
  { table, sql }: BackgroundStatement,
  now: () => Date,
): Promise<number | undefined> =>
  database.transaction(async (tx) => {
    if (!(await tx.tryLock(`background change ${migration}`))) return undefined;
    // Read after the lock: another worker may have come further meanwhile.
    const progress = (await openChanges(tx)).find((change) => change.migration === migration);
    if (!progress) return undefined;
    const { merchant_id, position } = progress;
    const batch = await tx.one<{ last: number | null; rows: number }>(
      `select max(id) as last, count(*) as rows from (
        select id from ${table} where merchant_id = $1 and id > $2 order by id limit ${ROWS_PER_STEP}) batch`,
      [merchant_id, position],
    );
    if (batch?.last != null) {
      await tx.run(sql, [merchant_id, position, batch.last]);
      await moveTo(tx, migration, { merchant_id, position: batch.last, rows: batch.rows });
      return batch.rows;
    }
    const next = await tx.one<{ id: number | null }>(
      `select min(merchant_id) as id from ${table} where merchant_id > $1`,
      [merchant_id],
    );
    if (next?.id != null) await moveTo(tx, migration, { merchant_id: next.id, position: 0, rows: 0 });
    else {
      await tx.run('update background_changes set finished_at = $2 where migration = $1', [
        migration,
        now().toISOString(),
      ]);
    }
    return 0;
  });

const moveTo = (
  tx: Transaction,
  migration: number,
  { merchant_id, position, rows }: { merchant_id: number; position: number; rows: number },
) =>
  tx.run(
    `update background_changes set merchant_id = $2, position = $3, rows_done = rows_done + $4 where migration = $1`,
    [migration, merchant_id, position, rows],
  );

const openChanges = (queries: Queries): Promise<Progress[]> =>
  queries.all<Progress>(
    'select migration, merchant_id, position from background_changes where finished_at is null order by migration',
  );

export const hasOpenChanges = async (queries: Queries): Promise<boolean> =>
  (await openChanges(queries)).length > 0;

/** Before a migration that relies on them. */
export async function finishChanges(database: Database, folder: URL, now: () => Date): Promise<void> {
  const known = readMigrations(database.engine, folder);
  const versions = new Set(known.map(({ version }) => version));
  while ((await openChanges(database)).some(({ migration }) => versions.has(migration))) {
    // Undefined: a worker is working on it.
    if ((await runStep(database, now, known)) === undefined) await sleep(WAIT_MS);
  }
}

/** Those that are not finished. */
export async function listChanges(database: Database, folder: URL = MIGRATIONS): Promise<ChangeStatus[]> {
  const rows = await database.all<Omit<ChangeStatus, 'rows'>>(
    'select migration, rows_done from background_changes where finished_at is null order by migration',
  );
  const known = readMigrations(database.engine, folder);
  return Promise.all(
    rows.map(async (row) => {
      const table = known.find(({ version }) => version === row.migration)?.background?.table;
      const rows = table === undefined ? null : await rowsOf(database, table);
      return { ...row, rows: rows === null ? null : Math.max(row.rows_done, rows) };
    }),
  );
}

/** Null on a cluster: the coordinator knows nothing about the size of a spread table, and counting may take minutes. */
async function rowsOf(database: Database, table: string): Promise<number | null> {
  if (database.isSpread) return null;
  const row = await database.one<{ rows: number }>(
    database.engine === 'sqlite'
      ? `select count(*) as rows from ${table}`
      : `select reltuples::bigint as rows from pg_class where oid = to_regclass('${table}')`,
  );
  return row?.rows ?? 0;
}
