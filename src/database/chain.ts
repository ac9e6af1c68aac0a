import type { MerchantId } from '../contract/ids.ts';
import { lockNameSql } from './locks.ts';

/**
 * Writes of one merchant that belong together: all or nothing. Every value is known before, so an engine may run them as
 * it likes: PostgreSQL as one statement (`chainSql`), SQLite and a cluster one after another (`runSteps`), in the order
 * of the steps, which is that of the locks: see `Transaction`.
 */
export interface Chain {
  /** Runs first, with one row. If it finds none, nothing is written. */
  gate?: Change;
  steps: readonly Step[];
  /** A name to lock first, and then the rows of the first step, in the order of their ids: see `Transaction.lock`. */
  lock?: string;
}

/** A chain whose rows need new ids: how many of each table. */
export interface ChainWithIds {
  newIds: Readonly<Record<string, number>>;
  build: (ids: NewIds) => Chain;
}
export type NewIds = Readonly<Record<string, readonly number[]>>;

export type Step = Change | Insert;

/** Changes rows that exist, or only finds them. */
export interface Change extends Values {
  do: 'update' | 'delete' | 'find';
  table: string;
  /** SQL, as `where`: what an update sets. */
  set?: string;
  /** SQL: which rows of the merchant. `r` is the row of `values`; other columns are those of the table. */
  where: string;
  returning?: string;
}

export interface Insert extends Values {
  do: 'insert';
  table: string;
  /** SQL: the conflict's columns and what to do then. */
  onConflict?: string;
  /**
   * For `do update`: how the values of several rows with the same other columns become one, if chains share a statement.
   * A statement cannot change the same row twice.
   */
  merge?: Readonly<Record<string, 'min' | 'max'>>;
  /** Another value of a column, if the step before has changed a row. */
  ifChanged?: { column: string; value: string };
}

interface Values {
  columns: Columns;
  values: readonly Row[];
}
type Columns = Readonly<Record<string, 'bigint' | 'integer' | 'text'>>;
export type Row = Readonly<Record<string, string | number | null>> & { readonly merchant_id: MerchantId };

/** PostgreSQL expects 100 rows of JSON, for which it would read all of a small table. With an unknown limit it expects 10. */
const FEW = 'limit (select 1000000)';

/**
 * For PostgreSQL: the chain as one statement, whose text is the same for any number of rows and of chains, so that
 * PostgreSQL plans it once. `chain` is the number of a row's chain. With `lockWaitMaxMs` it waits no longer than that for
 * a lock.
 */
export function chainSql(chain: Chain, lockWaitMaxMs?: number): string {
  const { gate, lock } = chain;
  const all = stepsOf(chain);
  const nameAt = (index: number) => (gate && index === 0 ? 'gate' : `step_${index}`);
  const parts = all.flatMap((step, index) => {
    const name = nameAt(index);
    const columns = Object.entries(step.columns).map((column) => column.join(' '));
    if (step.do === 'insert' && step.ifChanged) columns.push('if_changed text');
    // The first rows are read before anything is written.
    const more = lockWaitMaxMs && index === 0 ? `, set_config('lock_timeout', '${lockWaitMaxMs}', true)` : '';
    const rows = `${name}_rows as materialized (select r.*${more}
      from json_to_recordset(cast($${index + 1} as json)) as r (chain integer, ${columns.join(', ')}) ${FEW})`;
    const conditions = [
      // PostgreSQL runs the parts of a statement in any order, unless one reads the other.
      ...(index > 0 ? [`(select count(*) from ${nameAt(index - 1)}) >= 0`] : []),
      ...(index > 0 && gate ? ['r.chain in (select gate.chain from gate)'] : []),
      ...(index === 0 && lock !== undefined ? [`${step.table}.id in (select locked.id from locked)`] : []),
    ];
    const sql =
      step.do === 'insert'
        ? insertSql(step, `${name}_rows`, conditions, nameAt(index - 1))
        : changeSql(step, `${name}_rows`, conditions);
    const locks =
      index === 0 && lock !== undefined ? lockParts(step.table, `${name}_rows`, all.length + 1) : [];
    return [rows, ...locks, `${name} as (${sql})`];
  });
  const [first] = all;
  const returns = gate || (first?.do !== 'insert' && first?.returning);
  return `with ${parts.join(', ')} ${returns ? `select * from ${nameAt(0)}` : 'select 1 where false'}`;
}

function insertSql(
  { table, columns, onConflict, merge, ifChanged }: Insert,
  rows: string,
  conditions: readonly string[],
  before: string,
): string {
  const names = Object.keys(columns);
  const keys = names.filter((column) => !merge?.[column]).map((column) => `r.${column}`);
  const values = names.map((column) => {
    const value =
      ifChanged?.column === column
        ? `case when exists (select 1 from ${before}) then r.if_changed else r.${column} end`
        : `r.${column}`;
    return merge?.[column] ? `${merge[column]}(${value})` : value;
  });
  // Without RETURNING, a cluster reports no violations, and the next part could not wait for this one.
  return `insert into ${table} (${names}) select ${values} from ${rows} r ${whereAll(conditions)}
    ${merge ? `group by ${keys} order by ${keys}` : ''} ${onConflict ? `on conflict ${onConflict}` : ''}
    returning 1 as done`;
}

function changeSql(
  { do: verb, table, set, where, returning }: Change,
  rows: string,
  conditions: readonly string[],
): string {
  const own = whereAll([`${table}.merchant_id = r.merchant_id`, where, ...conditions]);
  const row = returning ? `r.chain, ${returning}` : 'r.chain';
  if (verb === 'find') return `select ${row} from ${rows} r, ${table} ${own}`;
  return verb === 'update'
    ? `update ${table} set ${set} from ${rows} r ${own} returning ${row}`
    : `delete from ${table} using ${rows} r ${own} returning ${row}`;
}

const lockParts = (table: string, rows: string, parameter: number) => [
  `lock as materialized (select ${lockNameSql(`$${parameter}`)})`,
  `locked as (select ${table}.id from lock, ${rows} r
    join ${table} on ${table}.merchant_id = r.merchant_id and ${table}.id = r.id order by ${table}.id for update of ${table})`,
];

const whereAll = (conditions: readonly string[]) =>
  conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';

const stepsOf = ({ gate, steps }: Chain): readonly Step[] => (gate ? [gate, ...steps] : steps);

/** The parameters of several chains with the same texts, as one. */
export function chainParams(chains: readonly Chain[]): string[] {
  const all = chains.map(stepsOf);
  const params = all[0]!.map((_, index) =>
    JSON.stringify(
      all.flatMap((steps, chain) => {
        const step = steps[index]!;
        const more = step.do === 'insert' && step.ifChanged ? { if_changed: step.ifChanged.value } : {};
        return step.values.map((row) => ({ chain, ...row, ...more }));
      }),
    ),
  );
  const { lock } = chains[0]!;
  return lock === undefined ? params : [...params, lock];
}

/** The same for chains that differ only in their values. */
export const chainText = (chain: Chain): string => stepsOf(chain).map(textOf).join(';');

const textOf = (step: Step): string =>
  step.do === 'insert'
    ? `insert ${step.table} ${Object.keys(step.columns)} ${step.onConflict}`
    : `${step.do} ${step.table} ${step.set} ${step.where}`;
