import type { MerchantId } from '../../contract/ids.ts';
import type { Engine, Queries } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import type { Term } from './words.ts';

/**
 * The engines differ here: SQLite searches with FTS5, PostgreSQL with a tsvector. They only find rows; the program
 * ranks them, so that both engines return the same. Terms are quoted, and words contain only letters, marks and
 * digits, so a caller's text cannot change the query.
 */

export type Searchable = 'documents' | 'answered_questions';

const SYNTAX = {
  sqlite: { quote: '"', isPrefix: ' *', all: ' AND ', any: ' OR ' },
  postgres: { quote: "'", isPrefix: ':*', all: ' & ', any: ' | ' },
} as const satisfies Record<Engine, object>;

const KEYS = {
  documents: 'id',
  answered_questions: 'notification_id',
} as const satisfies Record<Searchable, string>;

/** SQLite's index contains the merchant in every word, so it never looks at rows of others. */
const matching = (table: Searchable, expression: string) =>
  `select rowid from ${table}_index where ${table}_index match ${expression}`;

/** The newest rows before `$3` that the expression `$2` finds, at most `$4`. */
const NEWEST: Record<Engine, (table: Searchable, columns: string) => string> = {
  sqlite: (table, columns) =>
    `select ${columns} from ${table} where merchant_id = $1 and ${KEYS[table]} in
      (${matching(table, '$2')} and rowid < $3 order by rowid desc limit $4) order by ${KEYS[table]} desc`,
  // With a plain column PostgreSQL may read the merchant's rows in this order and test each one for the words.
  postgres: (table, columns) =>
    `select ${columns} from ${table} where merchant_id = $1 and found_by @@ cast($2 as tsquery)
      and ${KEYS[table]} + 0 < $3 order by ${KEYS[table]} + 0 desc limit $4`,
};

/** The rows that an expression finds. */
const FOUND: Record<Engine, (table: Searchable, expression: string) => string> = {
  sqlite: matching,
  postgres: (table, expression) =>
    `select 1 from ${table} where merchant_id = $1 and found_by @@ cast(${expression} as tsquery)`,
};

/** SQLite reads in the thread of all requests, so it reads little at a time. */
const READ_AT_ONCE: Record<Engine, number> = { sqlite: 500, postgres: 10_000 };
const COUNTED_AT_ONCE: Record<Engine, number> = { sqlite: 4, postgres: 100 };

/** The elements of a JSON array as rows with a `value`. */
const ELEMENTS: Record<Engine, (parameter: string) => string> = {
  sqlite: (parameter) => `json_each(${parameter})`,
  postgres: (parameter) => `json_array_elements_text(cast(${parameter} as json))`,
};

export const elementsOf = (engine: Engine, parameter: string) => ELEMENTS[engine](parameter);

function termText(engine: Engine, merchantId: MerchantId, { word, isPrefix }: Term): string {
  const { quote, isPrefix: mark } = SYNTAX[engine];
  return `${quote}${merchantId}:${word.replaceAll(/['"\\\s]/g, '')}${quote}${isPrefix ? mark : ''}`;
}

/** At least one term of every group. */
function expressionOf(engine: Engine, merchantId: MerchantId, groups: readonly (readonly Term[])[]): string {
  const { all, any } = SYNTAX[engine];
  return groups
    .map((terms) => `(${terms.map((term) => termText(engine, merchantId, term)).join(any)})`)
    .join(all);
}

/** The newest rows that contain at least one term of every group. */
export async function findRows<Row extends { id: number }>(
  queries: Queries,
  merchantId: MerchantId,
  { table, columns, groups, limit, atOnce: atOnceMax = READ_AT_ONCE[queries.engine] }: Search,
): Promise<Row[]> {
  const { engine } = queries;
  const expression = expressionOf(engine, merchantId, groups);
  const pause = inSlices();
  const found: Row[] = [];
  while (found.length < limit) {
    const atOnce = Math.min(atOnceMax, limit - found.length);
    const rows = await queries.all<Row>(NEWEST[engine](table, columns), [
      merchantId,
      expression,
      found.at(-1)?.id ?? Number.MAX_SAFE_INTEGER,
      atOnce,
    ]);
    for (const row of rows) found.push(row);
    if (rows.length < atOnce) break;
    await pause();
  }
  return found;
}

interface Search {
  table: Searchable;
  /** One of them must be named `id`. */
  columns: string;
  groups: readonly (readonly Term[])[];
  limit: number;
  /** How many are read in one statement, if their columns are long. */
  atOnce?: number;
}

/** A word in this many rows is common. Counting further would cost time and change nothing. */
const COUNTED_MAX = 300;

export interface Counts {
  /** The merchant's rows, at most COUNTED_MAX. */
  total: number;
  /** For each group, how many rows contain one of its terms. */
  found: number[];
}

export async function countRows(
  queries: Queries,
  merchantId: MerchantId,
  table: Searchable,
  groups: readonly (readonly Term[])[],
): Promise<Counts> {
  const { engine } = queries;
  const counted = (select: string) => `(select count(*) from (${select} limit ${COUNTED_MAX}) counted)`;
  const pause = inSlices();
  const counts: Counts = { total: 0, found: [] };
  for (let from = 0; from < groups.length; from += COUNTED_AT_ONCE[engine]) {
    const expressions = groups
      .slice(from, from + COUNTED_AT_ONCE[engine])
      .map((group) => expressionOf(engine, merchantId, [group]));
    const rows = await queries.all<{ total: number; found: number }>(
      `select ${counted(`select 1 from ${table} where merchant_id = $1`)} as total,
          ${counted(FOUND[engine](table, 'value'))} as found from ${elementsOf(engine, '$2')}`,
      [merchantId, JSON.stringify(expressions)],
    );
    counts.total = rows[0]?.total ?? 0;
    counts.found.push(...rows.map(({ found }) => found));
    await pause();
  }
  return counts;
}
