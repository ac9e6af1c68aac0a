import type { Param } from './database.ts';

/** A statement that may build on an earlier one. The first of a chain is `returning` something. */
export interface Step {
  /** Later steps read what this one is `returning` under this name: one row, or none. */
  name: string;
  /** The step that this one builds on, which it reads with `from <after>`. If that gave no row, this one does nothing. */
  after?: string | undefined;
  sql: string;
  params: readonly Param[];
  /** Several chains in one statement share it: it reads what `after` gave to all of them. It has no parameters. */
  shared?: true;
}

/** For PostgreSQL: the chain as one statement. Gives what its first step is `returning`. */
export function chainSql(steps: readonly Step[]): string {
  return `with ${parts(steps, '', 0)} select * from ${steps[0]!.name}`;
}

/**
 * For PostgreSQL: several chains with the same texts as one statement, so that they share a trip and a commit. Gives a
 * row for each chain whose first step gave one. The first row sets how long the statement may wait for a lock.
 */
export function groupSql(steps: readonly Step[], size: number, lockWaitMaxMs: number): string {
  const places = Array.from({ length: size }, (_, place) => place);
  const first = steps[0]!.name;
  const rows = places.map((place) => `select ${place}, to_json(${first}_${place}) from ${first}_${place}`);
  const own = steps.filter(({ shared }) => !shared);
  const all = [
    ...places.map((place) => parts(own, `_${place}`, place * paramCount(own))),
    ...sharedParts(steps, size),
  ];
  return `with ${all.join(', ')}
    select -1 as place, to_json(set_config('lock_timeout', '${lockWaitMaxMs}', true)) as row
    union all ${rows.join(' union all ')}`;
}

/** Steps that all chains of a group share. One statement cannot write the same row twice. */
const sharedParts = (steps: readonly Step[], size: number): string[] =>
  steps
    .filter(({ shared }) => shared)
    .map(({ name, after, sql }) => {
      const rows = Array.from({ length: size }, (_, place) => `select * from ${after}_${place}`);
      return `${name} as (${sql.replaceAll(`from ${after} `, `from (${rows.join(' union all ')}) ${after} `)})`;
    });

export const paramsOf = (steps: readonly Step[]): Param[] => steps.flatMap(({ params }) => params);

const paramCount = (steps: readonly Step[]): number =>
  steps.reduce((count, { params }) => count + params.length, 0);

/** The steps as common table expressions, with `suffix` behind their names and their parameters numbered on. */
function parts(steps: readonly Step[], suffix: string, paramsBefore: number): string {
  let before = paramsBefore;
  return steps
    .map(({ name, after, sql, params }) => {
      const offset = before;
      before += params.length;
      let text = sql.replace(/\$(\d+)/g, (_, position) => `$${offset + Number(position)}`);
      if (after !== undefined) {
        const reads = new RegExp(`\\bfrom ${after}\\b`, 'g');
        // Nothing else would stop it where the other step gave no row.
        if (!reads.test(text)) throw new Error(`${name} does not read from ${after}`);
        text = text.replace(reads, `from ${after}${suffix} as ${after}`);
      }
      return `${name}${suffix} as (${text})`;
    })
    .join(', ');
}

/** For SQLite: one step after another. Each gets the row that it builds on. */
export function runSteps<Row>(
  steps: readonly Step[],
  run: (sql: string, params: readonly Param[]) => object | undefined,
): Row | undefined {
  const made = new Map<string, object | undefined>();
  for (const { name, after, sql, params } of steps) {
    const row = after === undefined ? {} : made.get(after);
    if (!row) continue;
    const values = [...params];
    const known = Object.values(row).map((value) => `$${values.push(value)}`);
    const head = after === undefined ? '' : `with ${after} (${Object.keys(row)}) as (values (${known})) `;
    made.set(name, run(head + sql, values));
  }
  return made.get(steps[0]!.name) as Row | undefined;
}
