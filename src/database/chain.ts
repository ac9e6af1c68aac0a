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
    const known = knownTextsOf(sql);
    const read = [...relations].filter(([relation]) => known.words.has(relation));
    const params: Param[] = [];
    let sizes = '';
    for (const [relation, { columns, rows }] of read) {
      for (const row of rows) for (const column of columns) params.push(row[column] ?? null);
      sizes += `${relation} ${rows.length} `;
    }
    let text = known.bySizes.get(sizes);
    if (text === undefined) {
      text = withRelations(sql, read);
      known.bySizes.set(sizes, text);
    }
    relations.set(name, run(text, params));
  }
  return relations.get(steps[0]!.name)!.rows;
}

function relationOf({ columns, values, newIdsOf }: StepRows, lastIdOf: SqliteSteps['lastIdOf']): Relation {
  const names = Object.keys(columns);
  if (!newIdsOf) return { columns: names, rows: values };
  const last = lastIdOf(newIdsOf);
  return { columns: [...names, 'id'], rows: values.map((row, index) => ({ ...row, id: last + 1 + index })) };
}

/** The statement with the rows of each relation as a list of parameters in front. */
function withRelations(sql: string, relations: readonly [string, Relation][]): string {
  let position = 0;
  const heads = relations.map(([relation, { columns, rows }]) => {
    const lines = rows.map(() => `(${columns.map(() => `$${++position}`)})`);
    const content = rows.length > 0 ? `values ${lines}` : `select ${columns.map(() => 'null')} where false`;
    return `${relation} (${columns}) as (${content})`;
  });
  return heads.length > 0 ? `with ${heads} ${sql}` : sql;
}

interface KnownTexts {
  words: ReadonlySet<string>;
  /** By the number of rows in each relation that the step reads. */
  bySizes: Map<string, string>;
}
const knownTexts = new Map<string, KnownTexts>();

/** Kept, because building the texts took an eighth of an answer's time. */
function knownTextsOf(sql: string): KnownTexts {
  let known = knownTexts.get(sql);
  if (!known) {
    known = { words: new Set(sql.match(/\w+/g)), bySizes: new Map() };
    knownTexts.set(sql, known);
  }
  return known;
}
