import {
  type Chain,
  type ChangeShape,
  type Insert,
  type InsertShape,
  NEW_ID,
  type NewIds,
  type Row,
  type Step,
} from './chain.ts';
import type { Dialect, Param } from './database.ts';
import { identityOf } from './spread/identity.ts';
import { valuesParams, valuesSql } from './values.ts';

/**
 * A chain as one statement after another: for SQLite, and for a cluster, where each statement names its merchant and
 * writes to one table, so that one node runs it.
 */
export interface StepRunner extends Dialect {
  lock?(name: string): Promise<void>;
  run<Found>(sql: string, params: readonly Param[]): Promise<Found[]>;
  /** The same for an update or delete, as the number of rows. */
  count(sql: string, params: readonly Param[]): Promise<number>;
  newIds(table: string, count: number): Promise<readonly number[]>;
}

/** How many rows one insert writes. On SQLite one, so that the text is always the same. */
const ROWS_MAX = { sqlite: 1, postgres: 100 };

/** Returns what the gate is `returning`, or the first step if there is no gate. */
export async function runSteps<Found>(
  { gate, steps, lock, newId, numbers }: Chain,
  given: StepRunner,
): Promise<Found[]> {
  const runner = numbers ? withNumbers(given, numbers) : given;
  if (lock !== undefined) {
    await runner.lock?.(lock);
    await lockRows(steps[0]!, runner);
  }
  let found: Found[] | undefined;
  if (gate) {
    found = await change<Found>(gate.shape, gate.values[0]!, runner);
    if (found.length === 0) return found;
  }
  const id = newId && (await runner.newIds(newId.table, 1))[0]!;
  if (id !== undefined) found = found?.map((row) => ({ ...row, new_id: id }));
  let hasChanged = false;
  for (const step of steps) {
    if (isInsert(step)) {
      await insertAll(id === undefined ? step : withNewId(step, id), hasChanged, runner);
      continue;
    }
    const rows: Found[] = [];
    for (const row of step.values) rows.push(...(await change<Found>(step.shape, row, runner)));
    hasChanged = rows.length > 0;
    found ??= rows;
  }
  return found ?? [];
}

/** How many numbers a chain needs on a cluster, by table: its new id, and one for each row that has none. */
export function numbersWanted({ steps, newId }: Chain): Record<string, number> {
  const counts: Record<string, number> = {};
  const add = (table: string, count: number) => {
    if (count > 0) counts[table] = (counts[table] ?? 0) + count;
  };
  if (newId) add(newId.table, 1);
  for (const step of steps)
    if (isInsert(step) && numberOf(step.shape) !== undefined) add(step.shape.table, step.values.length);
  return counts;
}

/** The column with the number of a row, unless its value is given. */
function numberOf({ table, columns }: InsertShape): string | undefined {
  const identity = identityOf(table);
  return identity !== undefined && identity in columns ? undefined : identity;
}

/** Numbers that were drawn before, instead of a statement for each insert. */
function withNumbers(runner: StepRunner, numbers: NewIds): StepRunner {
  // Of this run: after a conflict, the chain runs again.
  const left = new Map(Object.entries(numbers).map(([table, drawn]) => [table, [...drawn]]));
  return {
    ...runner,
    async newIds(table, count) {
      const drawn = left.get(table)?.splice(0, count) ?? [];
      return drawn.length < count ? [...drawn, ...(await runner.newIds(table, count - drawn.length))] : drawn;
    },
  };
}

const isInsert = (step: Step): step is Insert => step.shape.do === 'insert';

function withNewId(insert: Insert, id: number): Insert {
  const { newId } = insert.shape;
  if (!newId) return insert;
  const fill = (row: Row): Row => ({
    ...row,
    [newId.column]: id,
    ...(newId.json && { [newId.json]: String(row[newId.json]).replaceAll(`"${NEW_ID}"`, String(id)) }),
  });
  return { ...insert, values: insert.values.map(fill) };
}

/**
 * For chains that share a transaction: the rows that their gates change, before anything is written. Otherwise the first
 * chain would lock what the others take last: see `Transaction`.
 */
export async function lockGates(chains: readonly Chain[], runner: Pick<StepRunner, 'run'>): Promise<void> {
  if (chains.length < 2) return;
  const gates = chains.flatMap(({ gate }) => (gate && gate.shape.do !== 'find' ? [gate] : []));
  const byTable = Map.groupBy(gates, ({ shape }) => shape.table);
  for (const table of [...byTable.keys()].sort()) {
    const rows = byTable.get(table)!.map(({ values }) => values[0]!);
    await lockIds(table, rows, runner);
  }
}

/** SQLite runs transactions one at a time. */
async function lockRows({ shape, values }: Step, runner: StepRunner): Promise<void> {
  if (runner.engine === 'postgres' && values.length > 1) await lockIds(shape.table, values, runner);
}

/** In the order of their ids: see `Transaction`. */
async function lockIds(
  table: string,
  values: readonly Row[],
  { run }: Pick<StepRunner, 'run'>,
): Promise<void> {
  await run(
    `select id from ${table} where merchant_id = $1 and id = any(cast($2 as bigint[])) order by id for update`,
    [values[0]!.merchant_id, values.map(({ id }) => Number(id))],
  );
}

async function insertAll(
  { shape, values: given, ifChanged }: Insert,
  hasChanged: boolean,
  runner: StepRunner,
): Promise<void> {
  const { changing } = shape;
  const values =
    changing !== undefined && ifChanged !== undefined && hasChanged
      ? given.map((row) => ({ ...row, [changing]: ifChanged }))
      : given;
  const wanted = shape.unless === undefined ? values : await withoutFound(shape, values, runner);
  for (let from = 0; from < wanted.length; from += ROWS_MAX[runner.engine])
    await insert(shape, wanted.slice(from, from + ROWS_MAX[runner.engine]), runner);
}

async function withoutFound(shape: InsertShape, values: readonly Row[], runner: StepRunner): Promise<Row[]> {
  const { sql, columns } = kept(`${runner.engine} ${shape.key} unless`, () => {
    const used = ['merchant_id'];
    return { sql: bindTo(used, shape.columns, runner)(shape.unless!), columns: used };
  });
  const wanted: Row[] = [];
  for (const row of values) {
    const params = columns.map((column) => row[column] ?? null);
    if ((await runner.run(sql, params)).length === 0) wanted.push(row);
  }
  return wanted;
}

interface Text {
  sql: string;
  /** Whose values are the parameters. */
  columns: readonly string[];
}
const texts = new Map<string, Text>();

/** Kept, because building the texts took an eighth of an answer's time. */
function kept(key: string, build: () => Text): Text {
  let text = texts.get(key);
  if (!text) {
    text = build();
    texts.set(key, text);
  }
  return text;
}

/** A row of the values finds at most one row of the table. */
async function change<Found>(shape: ChangeShape, row: Row, runner: StepRunner): Promise<Found[]> {
  const { sql, columns } = kept(`${runner.engine} ${shape.key}`, () => changeText(shape, runner));
  const params = columns.map((column) => row[column] ?? null);
  const count =
    shape.do === 'find' ? (await runner.run(sql, params)).length : await runner.count(sql, params);
  const { returning } = shape;
  return count > 0 ? [(returning ? { [returning]: row[returning] } : {}) as Found] : [];
}

function changeText({ do: verb, table, columns, set = '', where }: ChangeShape, { engine }: Dialect): Text {
  const used: string[] = ['merchant_id'];
  const bind = bindTo(used, columns, { engine });
  const own = `where ${table}.merchant_id = $1 and ${bind(where)}`;
  const sql = {
    find: `select 1 as found from ${table} ${own}`,
    update: `update ${table} set ${bind(set)} ${own}`,
    delete: `delete from ${table} ${own}`,
  }[verb];
  return { sql, columns: used };
}

/** Each value becomes a parameter. PostgreSQL cannot see the types of all of them. */
const bindTo =
  (used: string[], columns: InsertShape['columns'], { engine }: Pick<Dialect, 'engine'>) =>
  (sql: string): string =>
    sql.replace(/\br\.(\w+)/g, (_, column: string) => {
      if (!used.includes(column)) used.push(column);
      const parameter = `$${used.indexOf(column) + 1}`;
      return engine === 'sqlite' ? parameter : `cast(${parameter} as ${columns[column]})`;
    });

async function insert(shape: InsertShape, rows: readonly Row[], runner: StepRunner): Promise<void> {
  const { table, onConflict } = shape;
  const number = runner.isSpread ? numberOf(shape) : undefined;
  const { sql, columns } = kept(`${runner.engine} ${shape.key} ${number} ${rows.length}`, () => {
    const names = [...Object.keys(shape.columns), ...(number === undefined ? [] : [number])];
    return { sql: valuesSql(table, names, rows.length, { onConflict }), columns: names };
  });
  const drawn = number === undefined ? [] : await runner.newIds(table, rows.length);
  await runner.run(
    sql,
    valuesParams(columns, rows, (row, column, index) =>
      column === number ? drawn[index]! : (row[column] ?? null),
    ),
  );
}
