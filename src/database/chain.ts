import type { Param } from './database.ts';

/**
 * A write that may use the results of earlier ones. PostgreSQL runs all steps of a chain as one statement. In it, a step
 * does not see what another wrote to a table, only what that step is `returning`. SQLite runs one step after another.
 */
export interface Step {
  /** Later steps read what this one is `returning` under this name. */
  name: string;
  /** What to write. This step and later ones read it as `<name>_rows`. */
  rows?: StepRows;
  sql: string;
}

interface StepRows {
  columns: Readonly<Record<string, 'bigint' | 'integer' | 'text'>>;
  values: readonly Row[];
  /** Adds a column `id` with a new id of this table for each row. */
  newIdsOf?: string;
}

/** PostgreSQL expects 100 rows of JSON, for which it would read all of a small table. With an unknown limit it expects 10. */
const FEW = 'limit (select 1000000)';

/**
 * For PostgreSQL: the chain as one statement. Its text is the same for any number of rows, so that PostgreSQL plans it
 * once. With `lockWaitMaxMs` it waits no longer than that for a lock.
 */
export function chainSql(steps: readonly Step[], lockWaitMaxMs?: number): string {
  let position = 0;
  const parts = steps.flatMap(({ name, rows, sql }) => {
    const step = `${name} as (${sql})`;
    if (!rows) return step;
    const columns = Object.entries(rows.columns).map((column) => column.join(' '));
    const more = [
      ...(rows.newIdsOf ? [`nextval(pg_get_serial_sequence('${rows.newIdsOf}', 'id')) as id`] : []),
      // The first rows are read before anything is written.
      ...(lockWaitMaxMs && position === 0 ? [`set_config('lock_timeout', '${lockWaitMaxMs}', true)`] : []),
    ];
    position += 1;
    return [
      `${name}_rows as materialized (select ${['r.*', ...more].join(', ')}
        from json_to_recordset(cast($${position} as json)) as r (${columns.join(', ')}) ${FEW})`,
      step,
    ];
  });
  return `with ${parts.join(', ')} select * from ${steps[0]!.name}`;
}

/** The parameters of several chains with the same texts, as one. */
export const chainParams = (chains: readonly (readonly Step[])[]): string[] =>
  chains[0]!.flatMap(({ rows }, step) =>
    rows ? [JSON.stringify(chains.flatMap((chain) => chain[step]!.rows!.values))] : [],
  );

export type Row = Readonly<Record<string, string | number | null>>;

interface Relation {
  columns: readonly string[];
  rows: readonly Row[];
}

export interface SqliteSteps {
  run(sql: string, params: readonly Param[]): Relation;
  /** The last id that was used in the table. */
  lastIdOf(table: string): number;
}

/** For SQLite: one step after another. Returns what the first is `returning`. */
export function runSteps(steps: readonly Step[], { run, lastIdOf }: SqliteSteps): readonly Row[] {
  const relations = new Map<string, Relation>();
  for (const { name, rows, sql } of steps) {
    if (rows) relations.set(`${name}_rows`, relationOf(rows, lastIdOf));
    const words = wordsIn(sql);
    const params: Param[] = [];
    const heads: string[] = [];
    for (const [relation, content] of relations) {
      if (words.has(relation)) heads.push(`${relation} (${content.columns}) as (${listed(content, params)})`);
    }
    relations.set(name, run(heads.length > 0 ? `with ${heads} ${sql}` : sql, params));
  }
  return relations.get(steps[0]!.name)!.rows;
}

function relationOf({ columns, values, newIdsOf }: StepRows, lastIdOf: SqliteSteps['lastIdOf']): Relation {
  const names = Object.keys(columns);
  if (!newIdsOf) return { columns: names, rows: values };
  const last = lastIdOf(newIdsOf);
  return { columns: [...names, 'id'], rows: values.map((row, index) => ({ ...row, id: last + 1 + index })) };
}

/** The rows as a list of parameters, which are added to `params`. */
function listed({ columns, rows }: Relation, params: Param[]): string {
  if (rows.length === 0) return `select ${columns.map(() => 'null')} where false`;
  const lines = rows.map((row) => `(${columns.map((column) => `$${params.push(row[column] ?? null)}`)})`);
  return `values ${lines}`;
}

const knownWords = new Map<string, ReadonlySet<string>>();

function wordsIn(sql: string): ReadonlySet<string> {
  let words = knownWords.get(sql);
  if (!words) {
    words = new Set(sql.match(/\w+/g));
    knownWords.set(sql, words);
  }
  return words;
}
