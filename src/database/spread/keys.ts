import type { Queries, Reads } from '../database.ts';
import { quotedName, quotedText } from './quote.ts';
import { IS_NO_SHARD } from './status.ts';

/**
 * The foreign keys of our tables. While tables are distributed they do not exist, so they are written down in a table
 * first. It is there until all of them exist again.
 */
export interface ForeignKey {
  table_name: string;
  name: string;
  /** With its schema if that is another one. */
  references_table: string;
  /** As PostgreSQL writes it: FOREIGN KEY (merchant_id) REFERENCES merchants(id). */
  definition: string;
}

/**
 * For migrations of a spread database, what Citus must and must not do:
 * 1. A foreign key does not change where a table is. Otherwise Citus would convert a new table with a foreign key to one
 *    that is on every node, and could not distribute it any more if it has an identity. `db distribute` adds these foreign
 *    keys anew.
 * 2. Tables are changed on one node after another. After it has changed one on all nodes at the same time, Citus refuses to
 *    change a function, or a table that is on every node, in the same transaction.
 * 3. The triggers of a spread table may be changed.
 */
export const MIGRATION_SETTINGS = `set local citus.enable_local_reference_table_foreign_keys = off;
    set local citus.multi_shard_modify_mode = 'sequential';
    set local citus.enable_unsafe_triggers = on;`;

export const REMEMBERED = 'distribution_keys';

/** SQL: the name of a table, with its schema if that is another one. */
const REFERENCED = (relation: string) => `case when ${relation}.relnamespace = current_schema()::regnamespace
  then ${relation}.relname else ${relation}.relnamespace::regnamespace || '.' || ${relation}.relname end`;

export const readForeignKeys = (queries: Reads): Promise<ForeignKey[]> =>
  queries.all<ForeignKey>(
    `select c.relname as table_name, k.conname as name,
        ${REFERENCED('t')} as references_table,
        pg_get_constraintdef(k.oid) as definition
      from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class t on t.oid = k.confrelid
      where k.contype = 'f' and k.conparentid = 0 and c.relnamespace = current_schema()::regnamespace
        and ${IS_NO_SHARD('c')} order by c.relname, k.conname`,
  );

/** Whether distributing began and did not come to its end: foreign keys are missing. */
export async function isUnfinished(queries: Pick<Queries, 'engine' | 'one'>): Promise<boolean> {
  if (queries.engine === 'sqlite') return false;
  return (await queries.one(`select 1 from pg_class where oid = to_regclass('${REMEMBERED}')`)) !== undefined;
}

/** Without those of a table that somebody has dropped since. */
export const readRemembered = (queries: Reads): Promise<ForeignKey[]> =>
  queries.all<ForeignKey>(
    `select table_name, name, references_table, definition from ${REMEMBERED}
      where to_regclass(quote_ident(table_name)) is not null
        and exists (select 1 from pg_class t where t.relkind in ('r', 'p') and ${REFERENCED('t')} = references_table)
      order by table_name, name`,
  );

export const rememberSql = (keys: readonly ForeignKey[]): string =>
  [
    `create table if not exists ${REMEMBERED} (
      table_name text not null, name text not null, references_table text not null, definition text not null,
      primary key (table_name, name))`,
    ...keys.map(
      ({ table_name, name, references_table, definition }) =>
        `insert into ${REMEMBERED} values (${[table_name, name, references_table, definition].map(quotedText).join(', ')})
          on conflict do nothing`,
    ),
  ].join(';\n');

export const forgetSql = `drop table ${REMEMBERED}`;

export const dropSql = ({ table_name, name }: ForeignKey): string =>
  `alter table ${quotedName(table_name)} drop constraint ${quotedName(name)}`;
export const addSql = ({ table_name, name, definition }: ForeignKey): string =>
  `alter table ${quotedName(table_name)} add constraint ${quotedName(name)} ${definition}`;
export const sameKey = (one: ForeignKey) => (other: ForeignKey) =>
  one.table_name === other.table_name && one.name === other.name;
