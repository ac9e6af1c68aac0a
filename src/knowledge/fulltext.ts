import type { MerchantId } from '../contract/ids.ts';
import type { Engine, Queries } from '../database/database.ts';
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

const FOUND: Record<Engine, (table: Searchable, expression: string) => string> = {
  sqlite: (table, expression) =>
    `${KEYS[table]} in (select rowid from ${table}_index where ${table}_index match ${expression})`,
  postgres: (_table, expression) => `found_by @@ cast(${expression} as tsquery)`,
};

/** With a plain column PostgreSQL may read the merchant's rows in this order and test each one for the words. */
const NEWEST_FIRST: Record<Engine, (key: string) => string> = {
  sqlite: (key) => `${key} desc`,
  postgres: (key) => `${key} + 0 desc`,
};

/** The elements of a JSON array as rows with a `value`. */
const ELEMENTS: Record<Engine, (parameter: string) => string> = {
  sqlite: (parameter) => `json_each(${parameter})`,
  postgres: (parameter) => `json_array_elements_text(cast(${parameter} as json))`,
};

export const elementsOf = (engine: Engine, parameter: string) => ELEMENTS[engine](parameter);

/** Locks the rows until the transaction ends. SQLite runs one write transaction at a time. */
export const LOCKED: Record<Engine, string> = { sqlite: '', postgres: 'for update' };

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
export function findRows<Row>(
  queries: Queries,
  merchantId: MerchantId,
  { table, columns, groups, limit }: Search,
): Promise<Row[]> {
  return queries.all(
    `select ${columns} from ${table} where merchant_id = $1 and ${FOUND[queries.engine](table, '$2')}
      order by ${NEWEST_FIRST[queries.engine](KEYS[table])} limit $3`,
    [merchantId, expressionOf(queries.engine, merchantId, groups), limit],
  );
}

interface Search {
  table: Searchable;
  columns: string;
  groups: readonly (readonly Term[])[];
  limit: number;
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
  const counted = (condition: string) =>
    `(select count(*) from
      (select 1 from ${table} where merchant_id = $1 ${condition} limit ${COUNTED_MAX}) counted)`;
  const rows = await queries.all<{ total: number; found: number }>(
    `select ${counted('')} as total, ${counted(`and ${FOUND[engine](table, 'value')}`)} as found
      from ${elementsOf(engine, '$2')}`,
    [merchantId, JSON.stringify(groups.map((group) => expressionOf(engine, merchantId, [group])))],
  );
  return { total: rows[0]?.total ?? 0, found: rows.map(({ found }) => found) };
}
