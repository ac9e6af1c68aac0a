import pg from 'pg';
import { EVERYWHERE } from '../../../src/database/spread/layout.ts';

/** Where a table is on a cluster: spread by merchant, the same on every node, or on the coordinator. */
type Placement = 'spread' | 'everywhere' | 'local';

export interface Table {
  placement: Placement;
  columns: ReadonlySet<string>;
  /** The column that the database numbers if a statement does not. */
  identity?: string;
}

/** One of the functions with a name. */
export interface Overload {
  argsMin: number;
  argsMax: number;
  /** Immutable, stable or volatile, as PostgreSQL's catalog calls it. */
  volatility: 'i' | 's' | 'v';
  /** The migrations created it. */
  isOwn: boolean;
}

/** What the rules must know of the database. */
export interface Layout {
  tables: ReadonlyMap<string, Table>;
  functions: ReadonlyMap<string, readonly Overload[]>;
}

const TABLES = `select c.relname as name, array_agg(cast(a.attname as text)) as columns,
    max(a.attname) filter (where a.attidentity <> '') as identity,
    max(a.attname) filter (where a.attnum = (select i.indkey[0] from pg_index i
      where i.indrelid = c.oid and i.indisprimary)) as first_of_key
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = cast('public' as regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
  group by c.oid, c.relname`;

const FUNCTIONS = `select p.proname as name, n.nspname = 'public' as "isOwn", p.provolatile as volatility,
    p.pronargs - p.pronargdefaults - case when p.provariadic = 0 then 0 else 1 end as "argsMin",
    case when p.provariadic = 0 then p.pronargs else 100 end as "argsMax"
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('public', 'pg_catalog')`;

/** Reads it from the catalog of a migrated database. */
export async function readLayout(databaseUrl: string): Promise<Layout> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const tables = await client.query<TableRow>(TABLES);
    const functions = await client.query<Overload & { name: string }>(FUNCTIONS);
    return {
      tables: new Map(tables.rows.map((row) => [row.name, tableOf(row)])),
      functions: Map.groupBy(functions.rows, ({ name }) => name),
    };
  } finally {
    await client.end();
  }
}

interface TableRow {
  name: string;
  columns: string[];
  identity: string | null;
  first_of_key: string | null;
}

function tableOf({ name, columns, identity, first_of_key }: TableRow): Table {
  const isEverywhere = (EVERYWHERE as readonly string[]).includes(name);
  const placement = isEverywhere ? 'everywhere' : first_of_key === 'merchant_id' ? 'spread' : 'local';
  return { placement, columns: new Set(columns), ...(identity !== null && { identity }) };
}
