import type { MerchantId } from '../contract/ids.ts';
import type { Engine, Queries } from '../database/database.ts';
import type { Term } from './words.ts';

/**
 * Where the engines differ: SQLite finds words by FTS5, PostgreSQL by a tsvector. Both only find; what is best
 * is decided by the program, so that both give the same. Terms are quoted, and words hold nothing but letters,
 * marks and digits: no text of a caller's reaches the syntax of either.
 */

export type Searchable = 'documents' | 'answered_questions';

const SYNTAX = {
  sqlite: { quote: '"', begun: ' *', all: ' AND ', any: ' OR ' },
  postgres: { quote: "'", begun: ':*', all: ' & ', any: ' | ' },
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

/** The elements of a JSON array, as rows with a `value`. */
const ELEMENTS: Record<Engine, (parameter: string) => string> = {
  sqlite: (parameter) => `json_each(${parameter})`,
  postgres: (parameter) => `json_array_elements_text(cast(${parameter} as json))`,
};

export const elementsOf = (engine: Engine, parameter: string) => ELEMENTS[engine](parameter);

/** Holds a row until the transaction ends; on SQLite transactions run one after another. */
export const LOCKED: Record<Engine, string> = { sqlite: '', postgres: 'for update' };

function termText(engine: Engine, merchantId: MerchantId, { word, begun }: Term): string {
  const { quote, begun: mark } = SYNTAX[engine];
  return `${quote}${merchantId}:${word.replaceAll(/['"\\\s]/g, '')}${quote}${begun ? mark : ''}`;
}

/** Of every group at least one term. */
function expressionOf(engine: Engine, merchantId: MerchantId, groups: readonly (readonly Term[])[]): string {
  const { all, any } = SYNTAX[engine];
  return groups
    .map((terms) => `(${terms.map((term) => termText(engine, merchantId, term)).join(any)})`)
    .join(all);
}

/** The columns asked for of the newest rows that have, of every group, at least one term. */
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

/** Beyond this a word is common, however common it is: to count on would cost and tell nothing. */
const COUNTED_MAX = 300;

export interface Counts {
  /** All of the merchant's rows. */
  total: number;
  /** For each group, the rows that have one of its terms. */
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
