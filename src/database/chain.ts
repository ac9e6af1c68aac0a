import type { MerchantId } from '../contract/ids.ts';
import { lockUntilCommit } from './locks.ts';
import { identityOf } from './spread/identity.ts';

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
  /**
   * The table of one new id. Its column in an insert is named by `newId` of the shape, and what the gate finds has it as
   * `new_id`. PostgreSQL draws it in the same statement: drawn before, a notification took 1.3 times as long.
   */
  newId?: { table: string };
  /** On a cluster: all numbers that it needs, by table, if they were drawn before: see `numbersWanted`. */
  numbers?: NewIds;
}

/** Stands for the new id in a text of JSON: see `newId` of a shape. */
export const NEW_ID = 'new id';

/** A chain whose rows need new ids, known before: how many of each table. */
export interface ChainWithIds {
  newIds: Readonly<Record<string, number>>;
  build: (ids: NewIds) => Chain;
}
export type NewIds = Readonly<Record<string, readonly number[]>>;

export type Step = Change | Insert;

/** Changes rows that exist, or only finds them. */
export interface Change {
  shape: ChangeShape;
  values: readonly Row[];
}

export interface Insert {
  shape: InsertShape;
  values: readonly Row[];
  /** Another value of a column, if the step before has changed a row. The shape says of which. */
  ifChanged?: string;
}

export type Row = Readonly<Record<string, string | number | null>> & { readonly merchant_id: MerchantId };
type Columns = Readonly<Record<string, 'bigint' | 'integer' | 'text' | 'double precision'>>;

/** What is the same for all rows: made once, by `defineChange`. */
export interface ChangeShape {
  key: number;
  do: 'update' | 'delete' | 'find';
  table: string;
  /** Of the values. */
  columns: Columns;
  /** SQL, as `where`: what an update sets. */
  set?: string;
  /** SQL: which rows of the merchant. `r` is the row of `values`; other columns are those of the table. */
  where: string;
  /** The column of the values that is returned for each row of them that was found. */
  returning?: string;
}

/** What is the same for all rows: made once, by `defineInsert`. */
export interface InsertShape {
  key: number;
  do: 'insert';
  table: string;
  columns: Columns;
  /** SQL: the conflict's columns and what to do then. */
  onConflict?: string;
  /**
   * For `do update`: how the values of several rows with the same other columns become one, if chains share a statement.
   * A statement cannot change the same row twice.
   */
  merge?: Readonly<Record<string, 'min' | 'max'>>;
  /** The column of `ifChanged`. */
  changing?: string;
  /** SQL: a row is not inserted if this select finds something. `r` is the row. */
  unless?: string;
  /** The column that gets the new id of the chain, and one with JSON in which it replaces `NEW_ID`. */
  newId?: { column: string; json?: string };
}

let shapes = 0;
/** The key stands for the text: comparing the texts of every answer took a tenth of its time. */
export const defineChange = (shape: Omit<ChangeShape, 'key'>): ChangeShape => ({ ...shape, key: ++shapes });
export const defineInsert = (shape: Omit<InsertShape, 'key' | 'do'>): InsertShape => ({
  ...shape,
  key: ++shapes,
  do: 'insert',
});

/** PostgreSQL expects 100 rows of JSON, for which it would read all of a small table. With an unknown limit it expects 10. */
const FEW = 'limit (select 1000000)';

/**
 * For PostgreSQL: the chain as one statement, whose text is the same for any number of rows and of chains, so that
 * PostgreSQL plans it once. `chain` is the number of a row's chain. With `lockWaitMaxMs` it waits no longer than that for
 * a lock.
 */
export function chainSql(chain: Chain, lockWaitMaxMs?: number): string {
  const { gate, lock, newId } = chain;
  const all = stepsOf(chain);
  const nameAt = (index: number) => (gate && index === 0 ? 'gate' : `step_${index}`);
  /** The last part that locks rows which exist. */
  let before: string | undefined;
  const parts = all.flatMap(({ shape }, index) => {
    const name = nameAt(index);
    const columns = Object.entries(shape.columns).map((column) => column.join(' '));
    if (shape.do === 'insert' && shape.changing) columns.push('if_changed text');
    // The first rows are read before anything is written.
    const more = lockWaitMaxMs && index === 0 ? `, set_config('lock_timeout', '${lockWaitMaxMs}', true)` : '';
    const given = `json_to_recordset(cast($${index + 1} as json)) as r (chain integer, ${columns.join(', ')})`;
    const isRead = shape.do === 'insert' && index > 0;
    const rows = isRead ? [] : [`${name}_rows as materialized (select r.*${more} from ${given} ${FEW})`];
    const source = `${isRead ? given : `${name}_rows r`}${needsId(shape) ? ', gate' : ''}`;
    const conditions = [
      ...(index > 0 && gate
        ? [needsId(shape) ? 'r.chain = gate.chain' : 'r.chain in (select gate.chain from gate)']
        : []),
      // PostgreSQL runs the parts of a statement in any order, unless one reads the other.
      ...(locksRows(shape) && before !== undefined ? [`(select count(*) from ${before}) >= 0`] : []),
      // Not as `not exists`: for the 100 rows that PostgreSQL expects, that would read all of a small table.
      ...(shape.do === 'insert' && shape.unless ? [`(${shape.unless} limit 1) is null`] : []),
      ...(index === 0 && lock !== undefined ? [`${shape.table}.id in (select locked.id from locked)`] : []),
    ];
    const sql =
      shape.do === 'insert'
        ? insertSql(shape, source, conditions, nameAt(index - 1))
        : changeSql(shape, source, conditions, index === 0 ? newId?.table : undefined);
    const locks =
      index === 0 && lock !== undefined ? lockParts(shape.table, `${name}_rows`, all.length + 1) : [];
    // Every part reads the gate.
    if (locksRows(shape) && name !== 'gate') before = name;
    return [...rows, ...locks, `${name} as (${sql})`];
  });
  const first = all[0]?.shape;
  const returns = gate || (first?.do !== 'insert' && first?.returning);
  return `with ${parts.join(', ')} ${returns ? `select * from ${nameAt(0)}` : 'select 1 where false'}`;
}

const needsId = (shape: ChangeShape | InsertShape) => shape.do === 'insert' && shape.newId !== undefined;

const locksRows = (shape: ChangeShape | InsertShape) =>
  shape.do !== 'insert' || shape.onConflict !== undefined;

function insertSql(
  { table, columns, onConflict, merge, changing, newId }: InsertShape,
  rows: string,
  conditions: readonly string[],
  before: string,
): string {
  const names = Object.keys(columns);
  const keys = names.filter((column) => !merge?.[column]).map((column) => `r.${column}`);
  const values = names.map((column) => {
    if (column === newId?.column) return 'gate.new_id';
    if (column === newId?.json) return `replace(r.${column}, '"${NEW_ID}"', cast(gate.new_id as text))`;
    const value =
      changing === column
        ? `case when exists (select 1 from ${before} where ${before}.chain = r.chain) then r.if_changed else r.${column} end`
        : `r.${column}`;
    return merge?.[column] ? `${merge[column]}(${value})` : value;
  });
  // Without RETURNING, a cluster reports no violations, and the next part could not wait for this one.
  return `insert into ${table} (${names}) select ${values} from ${rows} ${whereAll(conditions)}
    ${merge ? `group by ${keys} order by ${keys}` : ''} ${onConflict ? `on conflict ${onConflict}` : ''}
    returning 1 as done`;
}

function changeSql(
  { do: verb, table, set, where, returning }: ChangeShape,
  rows: string,
  conditions: readonly string[],
  newIdOf: string | undefined,
): string {
  const own = whereAll([`${table}.merchant_id = r.merchant_id`, where, ...conditions]);
  const drawn = newIdOf === undefined ? [] : [`${drawNext(newIdOf)} as new_id`];
  const row = ['r.chain', ...drawn, ...(returning ? [`r.${returning}`] : [])].join(', ');
  if (verb === 'find') return `select ${row} from ${rows}, ${table} ${own}`;
  return verb === 'update'
    ? `update ${table} set ${set} from ${rows} ${own} returning ${row}`
    : `delete from ${table} using ${rows} ${own} returning ${row}`;
}

/** Of an identity column, whose sequence PostgreSQL names so. */
export const drawNext = (table: string) => `nextval('${table}_${identityOf(table)}_seq')`;

const lockParts = (table: string, rows: string, parameter: number) => [
  `lock as materialized (select ${lockUntilCommit(`$${parameter}`)})`,
  `locked as (select ${table}.id from lock, ${rows} r
    join ${table} on ${table}.merchant_id = r.merchant_id and ${table}.id = r.id order by ${table}.id for update of ${table})`,
];

const whereAll = (conditions: readonly string[]) =>
  conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';

const stepsOf = ({ gate, steps }: Chain): readonly Step[] => (gate ? [gate, ...steps] : steps);

/** The parameters of several chains with the same key, as one. */
export function chainParams(chains: readonly Chain[]): string[] {
  const all = chains.map(stepsOf);
  const params = all[0]!.map((_, index) => {
    const rows = all.flatMap((steps, chain) => {
      const step = steps[index]!;
      const isChanging = 'ifChanged' in step && step.ifChanged !== undefined;
      const first = `{"chain":${chain},${isChanging ? `"if_changed":${JSON.stringify(step.ifChanged)},` : ''}`;
      // A copy of each row with two columns more would take twice the time.
      return step.values.map((row) => first + JSON.stringify(row).slice(1));
    });
    return `[${rows}]`;
  });
  const { lock } = chains[0]!;
  return lock === undefined ? params : [...params, lock];
}

/** The same for chains that differ only in their values. */
export const chainKey = (chain: Chain): string =>
  stepsOf(chain)
    .map(({ shape }) => shape.key)
    .join();

/** For people who read it. */
export const describeChain = (chain: Chain): string =>
  stepsOf(chain)
    .map(({ shape }) => `${shape.do} ${shape.table}`)
    .join('; ');
