import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Statement } from './statements.ts';

/** Where a statement's plan reads more rows than it needs: the table, and how. */
interface Scan {
  table: string;
  how: string;
}

export interface Planner {
  scansOf(statement: Statement): Promise<Scan[]>;
  close(): Promise<void>;
}

/** Statements that have a plan; `begin` or `listen`, for example, have none. */
export const hasPlan = ({ sql }: Statement) => /^\s*(select|with|insert|update|delete)\b/i.test(sql);

/** For a smaller table, it is right that PostgreSQL reads all of it. */
const LARGE_ROWS = 1000;

export async function postgresPlanner(url: string): Promise<Planner> {
  const client = new pg.Client(url);
  // The server may remove its database first.
  client.on('error', () => {});
  await client.connect();
  // One plan for every merchant, not a plan for the values of this call.
  await client.query('set plan_cache_mode = force_generic_plan');
  const { rows } = await client.query('select relname from pg_class where reltuples >= $1', [LARGE_ROWS]);
  const large = new Set<string>(rows.map(({ relname }) => relname));

  return {
    async scansOf({ sql, params }) {
      await client.query(`prepare statement as ${sql}`);
      try {
        const values = params.map((value) => literal(value)).join(', ');
        const { rows } = await client.query(
          `explain (format json) execute statement ${values === '' ? '' : `(${values})`}`,
        );
        return scansIn(rows[0]['QUERY PLAN'][0].Plan, large);
      } finally {
        await client.query('deallocate statement');
      }
    },
    close: () => client.end(),
  };
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value));
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

function scansIn(node: PlanNode, large: ReadonlySet<string>, table = node['Relation Name']): Scan[] {
  const type = node['Node Type'];
  // Combines two indexes, and reads only rows that are in both results.
  if (type === 'BitmapAnd') return [];
  const below = (node.Plans ?? []).flatMap((child) => scansIn(child, large, child['Relation Name'] ?? table));
  if (table === undefined || !large.has(table)) return below;
  if (type === 'Seq Scan') return [{ table, how: type }, ...below];
  if (!/^(Bitmap )?Index/.test(type)) return below;
  const condition = node['Index Cond'];
  const how = `${type} ${node['Index Name']}`;
  if (condition === undefined) return [{ table, how: `${how} as a whole` }, ...below];
  if (/^\(+(\w+\.)?merchant_id = [^()]+\)+$/.test(condition) && !condition.includes(' AND ')) {
    return [{ table, how: `${how} by merchant alone` }, ...below];
  }
  return below;
}

export function sqlitePlanner(file: string): Planner {
  const database = new DatabaseSync(file, { readOnly: true });
  const tables = new Set(
    database
      .prepare(`select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'`)
      .all()
      .map(({ name }) => String(name)),
  );
  const uniqueByMerchant = new Set(
    database
      .prepare(
        `select l.name from sqlite_schema t, pragma_index_list(t.name) l where t.type = 'table' and l."unique" = 1
          and (select string_agg(i.name, ',') from pragma_index_info(l.name) i) = 'merchant_id'`,
      )
      .all()
      .map(({ name }) => String(name)),
  );
  const named = (sql: string, alias: string): string | undefined => {
    if (tables.has(alias)) return alias;
    const found = new RegExp(`\\b(?:from|join|update|into|,)\\s+(\\w+)\\s+(?:as\\s+)?${alias}\\b`, 'i').exec(
      sql,
    );
    return found && tables.has(found[1]!) ? found[1] : undefined;
  };
  return {
    async scansOf({ sql }) {
      const details = database
        .prepare(`explain query plan ${sql}`)
        .all()
        .map(({ detail }) => String(detail));
      return details.flatMap((how): Scan[] => {
        const [, word, alias = ''] = /^(SCAN|SEARCH) (\w+)/.exec(how) ?? [];
        const table = word === undefined ? undefined : named(sql, alias);
        if (table === undefined || /VIRTUAL TABLE/.test(how)) return [];
        const [, index = ''] = /INDEX (\w+) \(merchant_id=\?\)$/.exec(how) ?? [];
        const isByMerchant = index !== '' && !uniqueByMerchant.has(index);
        return word === 'SCAN' || isByMerchant ? [{ table, how }] : [];
      });
    },
    close: async () => database.close(),
  };
}
