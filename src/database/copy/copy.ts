import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseProblem } from '../database.ts';
import { addRows, EMPTY, isSame, type Sum } from './checksum.ts';
import { PROGRESS, ROWS_PER_TURN, type Row, type Store, type Table, type Value, WORDS } from './store.ts';

export type OnProgress = (step: CopyStep) => void;

export interface CopyStep {
  doing: 'copying' | 'finishing' | 'comparing';
  what: string;
  done: number;
  of: number;
}

export type Sums = Readonly<Record<string, Sum>>;

interface TableProgress extends Sum {
  last?: readonly Value[];
  complete: boolean;
}

/** Whether a copy into this database was begun and not completed. */
export async function isIncomplete(database: {
  engine: string;
  one(sql: string): Promise<unknown>;
}): Promise<boolean> {
  const sql =
    database.engine === 'sqlite'
      ? `select 1 from sqlite_schema where name = '${PROGRESS}'`
      : `select 1 from pg_class where oid = to_regclass('${PROGRESS}')`;
  return (await database.one(sql)) !== undefined;
}

/** Marks the target as incomplete: a server that starts from now on refuses it. */
export async function markIncomplete(target: Store): Promise<void> {
  await target.query(`create table if not exists ${PROGRESS} (name text primary key, value text not null)`);
}

/** Into a target that is marked. Keeps what was copied from a source of the same name. */
export async function beginCopy(target: Store, sourceId: string): Promise<void> {
  if ((await read<string>(target, 'source')) === sourceId) return;
  await target.transaction(async () => {
    await target.clear();
    for (const statement of (await read<string[]>(target, 'after')) ?? []) await target.query(statement);
    await target.query(`delete from ${PROGRESS}`);
    await write(target, 'source', sourceId);
  });
}

/** Removes the mark: the target is complete. */
export async function endCopy(target: Store): Promise<void> {
  await target.query(`drop table ${PROGRESS}`);
}

/** Whether all rows are copied and compared. What comes after may be repeated. */
export const isCopied = async (target: Store): Promise<boolean> => (await read(target, COPIED)) !== undefined;

const COPIED = 'copied';

/**
 * Copies all rows of one database into another, on the same or on the other engine, and compares them. The target has the
 * tables of the same version. How far it has got is in the target, in the transaction of the rows, so a copy that was
 * interrupted goes on from there. Until it is complete, nothing else opens the target: see `isIncomplete`. Returns the
 * checksum of each table. If the checksums of the source are known, its rows are not summed up again.
 */
export async function copyRows(
  source: Store,
  target: Store,
  onProgress: OnProgress,
  known?: Sums,
): Promise<Sums> {
  const copied = await read<Sums>(target, COPIED);
  if (copied) {
    if (known) compare(known, copied);
    else await requireSame(source, target, copied, onProgress);
    return copied;
  }
  const tables = await sameTables(source, target);
  if ((await read(target, 'after')) === undefined) {
    await target.transaction(async () => {
      const { before, after } = await target.slowParts();
      // A start of the program or a migration may have written some.
      await target.clear();
      for (const statement of before) await target.query(statement);
      await write(target, 'after', after);
    });
  }
  const isResumed =
    (await target.query(`select 1 from ${PROGRESS} where name like 'table %' limit 1`)).length > 0;
  const of = await estimateAll(source, tables);
  let done = 0;
  const sums: Record<string, Sum> = {};
  for (const table of tables) {
    sums[table.name] = await copyTable(source, target, table, {
      sums: known === undefined,
      onRows: (rows) => onProgress({ doing: 'copying', what: table.name, done: done + rows, of }),
    });
    done += sums[table.name]!.rows;
  }
  await copyWords(source, target, onProgress);
  await target.transaction(async () => target.setCounters(await source.counters()));
  await finish(target, onProgress);
  const found = await sumsOf(target, onProgress);
  if (known) compare(known, found);
  else if (isResumed) await requireSame(source, target, found, onProgress);
  else compare(sums, found);
  await write(target, COPIED, found);
  return found;
}

/** The source may have been used between the two attempts. */
async function requireSame(source: Store, target: Store, found: Sums, onProgress: OnProgress): Promise<void> {
  try {
    compare(await sumsOf(source, onProgress), found);
  } catch (error) {
    await target.query(`delete from ${PROGRESS} where name = 'source'`);
    const again = 'If the source was used since the first attempt, run the command again: it starts again.';
    throw new DatabaseProblem(`${(error as Error).message} ${again}`, { cause: error });
  }
}

async function estimateAll(store: Store, tables: readonly Table[]): Promise<number> {
  let sum = 0;
  for (const table of tables) sum += await store.estimate(table);
  return sum;
}

/** Both must have the same tables with the same columns: the same migrations made them. */
async function sameTables(source: Store, target: Store): Promise<Table[]> {
  const [from, to] = [await source.tables(), await target.tables()];
  const describe = (tables: Table[]) => tables.map(({ name, columns }) => `${name}(${columns})`);
  const [mine, theirs] = [describe(from), describe(to)];
  const odd = mine.find((one) => !theirs.includes(one)) ?? theirs.find((one) => !mine.includes(one));
  if (odd !== undefined)
    throw new DatabaseProblem(`The two databases have different tables: ${odd.slice(0, odd.indexOf('('))}.`);
  return from;
}

async function copyTable(
  source: Store,
  target: Store,
  table: Table,
  { sums, onRows }: { sums: boolean; onRows: (rows: number) => void },
): Promise<Sum> {
  const name = `table ${table.name}`;
  let { rows, sum, last, complete } = (await read<TableProgress>(target, name)) ?? {
    ...EMPTY,
    complete: false,
  };
  if (complete) return { rows, sum };
  if (table.key.length === 0) {
    // Nothing says where to go on, so it begins again.
    await target.query(`delete from "${table.name}"`);
    [rows, sum, last] = [0, EMPTY.sum, undefined];
  }
  const places = table.key.map((column) => table.columns.indexOf(column));
  let writing: Promise<void> = Promise.resolve();
  for await (const piece of source.rows(table, last)) {
    const added = sums ? await addInTurns({ rows, sum }, piece) : { rows: rows + piece.length, sum };
    const keyOfLast = places.map((place) => piece.at(-1)![place]!);
    // While a piece is written, the next one is read and summed up.
    await writing;
    writing = target.transaction(async () => {
      await target.insert(table, piece);
      await write(target, name, { ...added, last: keyOfLast, complete: false });
    });
    writing.catch(() => {});
    ({ rows, sum } = added);
    onRows(rows);
  }
  await writing;
  await write(target, name, { rows, sum, complete: true });
  return { rows, sum };
}

async function addInTurns(sum: Sum, rows: readonly Row[]): Promise<Sum> {
  let added = sum;
  for (let from = 0; from < rows.length; from += ROWS_PER_TURN) {
    added = addRows(added, rows.slice(from, from + ROWS_PER_TURN));
    await nextTurn();
  }
  return added;
}

/** The words of the inbox. They have no key that both engines read in order, so they begin again. */
async function copyWords(source: Store, target: Store, onProgress: OnProgress): Promise<void> {
  const name = `table ${WORDS}`;
  if ((await read(target, name)) !== undefined) return;
  const of = await source.countWords();
  let done = 0;
  if ((await target.countWords()) > 0) await target.query(`delete from ${WORDS}`);
  for await (const piece of source.indexedWords()) {
    await target.transaction(() => target.insertWords(piece));
    done += piece.length;
    onProgress({ doing: 'copying', what: 'the search index', done, of });
  }
  await write(target, name, done);
}

/** Each statement once: it is removed from the list in its own transaction. */
async function finish(target: Store, onProgress: OnProgress): Promise<void> {
  const statements = await read<string[]>(target, 'after');
  const of = statements!.length;
  for (let rest = statements!; rest.length > 0; rest = rest.slice(1)) {
    onProgress({ doing: 'finishing', what: 'indexes and keys', done: of - rest.length, of });
    await target.transaction(async () => {
      await target.query(rest[0]!);
      await write(target, 'after', rest.slice(1));
    });
  }
}

/** Reads everything. */
export async function sumsOf(store: Store, onProgress: OnProgress): Promise<Sums> {
  const tables = await store.tables();
  const of = await estimateAll(store, tables);
  const sums: Record<string, Sum> = {};
  let done = 0;
  for (const table of tables) {
    let sum = EMPTY;
    for await (const piece of store.rows(table)) {
      sum = await addInTurns(sum, piece);
      done += piece.length;
      onProgress({ doing: 'comparing', what: table.name, done, of });
    }
    sums[table.name] = sum;
  }
  return sums;
}

export function compare(expected: Sums, found: Sums): void {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  const wrong = [...names].filter(
    (name) => !expected[name] || !found[name] || !isSame(expected[name], found[name]),
  );
  if (wrong.length === 0) return;
  const counts = (sums: Sums, name: string) => sums[name]?.rows ?? 'no';
  throw new DatabaseProblem(
    `The copy differs from its source in ${wrong
      .slice(0, 3)
      .map((name) => `${name} (${counts(found, name)} of ${counts(expected, name)} rows)`)
      .join(', ')}.`,
  );
}

async function read<T>(target: Store, name: string): Promise<T | undefined> {
  const [row] = await target.query<{ value: string }>(`select value from ${PROGRESS} where name = $1`, [
    name,
  ]);
  return row && (JSON.parse(row.value) as T);
}

async function write(target: Store, name: string, value: unknown): Promise<void> {
  await target.query(
    `insert into ${PROGRESS} (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
    [name, JSON.stringify(value)],
  );
}
