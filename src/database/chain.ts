import type { Param } from './database.ts';

/** A statement that may build on an earlier one. The first of a chain is `returning` something. */
export interface Step {
  /** What it is `returning` can be read under this name by later steps: one row, or none. */
  name: string;
  /** The step that it builds on: where that gave no row, this one does nothing. */
  after?: string | undefined;
  sql: string;
  params: readonly Param[];
}

/** As PostgreSQL takes them: nine trips of an answer become one, and half of its work was the trips. */
export function asOneStatement(steps: readonly Step[]): { sql: string; params: Param[] } {
  const params: Param[] = [];
  const parts = steps.map(({ name, after, sql, params: own }) => {
    // Here nothing else holds it back where the other gave no row.
    if (after !== undefined && !sql.includes(after)) throw new Error(`${name} does not read from ${after}`);
    const before = params.length;
    params.push(...own);
    return `${name} as (${sql.replace(/\$(\d+)/g, (_, position) => `$${before + Number(position)}`)})`;
  });
  return { sql: `with ${parts.join(', ')} select * from ${steps[0]!.name}`, params };
}

/** As SQLite takes them: one after another, each told the row that it builds on. */
export function oneByOne<Row>(
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
