import { PROGRAM } from '../../installation.ts';
import type { Reads } from '../database.ts';
import { EVERYWHERE } from './layout.ts';

/** Where the tables are, and where they belong: see layout.ts. */

type Place = 'everywhere' | 'by merchant' | 'coordinator';

export interface PlacedTable {
  name: string;
  belongs: Place;
  /** Undefined: Citus does not know it. Then it is on the coordinator. */
  is: Place | undefined;
  /** The role can change it. */
  is_owned: boolean;
  /** Those of the database itself are not among them. */
  triggers: Trigger[];
}

interface Trigger {
  name: string;
  /** SQL that makes it, and switches it off if it is. */
  definitions: string[];
  /** Its function, with the types of its parameters. Null if every node has it: one of PostgreSQL or of an extension. */
  function: string | null;
  /** The role can change the function. */
  is_owned: boolean;
}

/** Undefined without Citus. */
export async function readTables(queries: Reads): Promise<PlacedTable[] | undefined> {
  if (!(await hasCitus(queries))) return undefined;
  const rows = await queries.all<{
    name: string;
    by_merchant: boolean;
    method: string | null;
    model: string | null;
    is_owned: boolean;
    triggers: Trigger[];
  }>(
    `select c.relname as name, p.partmethod as method, p.repmodel as model,
        exists (select 1 from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
          where i.indrelid = c.oid and i.indisprimary and a.attname = 'merchant_id') as by_merchant,
        pg_has_role(c.relowner, 'usage') as is_owned, ${TRIGGERS} as triggers
      from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
      where c.relkind = 'r' and not c.relispartition and c.relnamespace = current_schema()::regnamespace and ${IS_NO_SHARD('c')} order by c.relname`,
  );
  return rows.map(({ name, by_merchant, method, model, ...rest }) => ({
    name,
    ...rest,
    belongs: isEverywhere(name) ? 'everywhere' : by_merchant ? 'by merchant' : 'coordinator',
    is:
      method === null
        ? undefined
        : method === 'h'
          ? 'by merchant'
          : model === 't'
            ? 'everywhere'
            : 'coordinator',
  }));
}

/** PostgreSQL's own functions have smaller numbers. */
const FIRST_OWN_OID = 16384;

/** SQL: the triggers of the table `c`, as JSON. */
const TRIGGERS = `(select coalesce(json_agg(json_build_object('name', t.tgname, 'definitions', array_remove(array[
      pg_get_triggerdef(t.oid),
      case t.tgenabled when 'D' then format('alter table %I disable trigger %I', c.relname, t.tgname)
        when 'R' then format('alter table %I enable replica trigger %I', c.relname, t.tgname)
        when 'A' then format('alter table %I enable always trigger %I', c.relname, t.tgname) end], null),
      'function', case when f.oid >= ${FIRST_OWN_OID} and not exists (select 1 from pg_depend d
        where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e') then f.oid::regprocedure::text end,
      'is_owned', pg_has_role(f.proowner, 'usage')) order by t.tgname), '[]')
    from pg_trigger t join pg_proc f on f.oid = t.tgfoid where t.tgrelid = c.oid and not t.tgisinternal)`;

/** The coordinator may have parts of the tables beside them: notifications_102008. No table of ours ends in a number. */
export const IS_NO_SHARD = (relation: string): string => `${relation}.relname !~ '_[0-9]+$'`;

const isEverywhere = (name: string) => (EVERYWHERE as readonly string[]).includes(name);

export async function hasCitus({ engine, one }: Reads): Promise<boolean> {
  if (engine === 'sqlite') return false;
  return (await one(`select 1 from pg_class where oid = to_regclass('pg_dist_partition')`)) !== undefined;
}

export const isMisplaced = ({ belongs, is }: PlacedTable): boolean =>
  belongs !== 'coordinator' && is !== belongs;

/** One line for the operator if tables are not spread although others are: a newer version has added them. */
export async function unspreadProblem(queries: Reads): Promise<string | undefined> {
  if (!queries.isSpread) return undefined;
  const missing = (await readTables(queries))!.filter(isMisplaced);
  return missing.length === 0 ? undefined : unspreadText(missing.map(({ name }) => name));
}

export const unspreadText = (tables: readonly string[]): string =>
  `${tables.length === 1 ? 'A table is' : `${tables.length} tables are`} not spread over the nodes yet (${tables.join(', ')}). Stop all servers and workers and run "${PROGRAM} db distribute".`;

/** How many tables are where. Undefined if they are not spread. */
export interface SpreadCounts {
  by_merchant: number;
  everywhere: number;
  coordinator: number;
  /** By name. */
  missing: string[];
}

export async function spreadCounts(queries: Reads): Promise<SpreadCounts | undefined> {
  const tables = await readTables(queries);
  if (!tables?.some(({ is }) => is === 'by merchant')) return undefined;
  const inPlace = tables.filter((table) => !isMisplaced(table));
  const count = (place: Place) => inPlace.filter(({ belongs }) => belongs === place).length;
  return {
    by_merchant: count('by merchant'),
    everywhere: count('everywhere'),
    coordinator: count('coordinator'),
    missing: tables.filter(isMisplaced).map(({ name }) => name),
  };
}
