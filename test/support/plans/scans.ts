import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/** Where a statement's plan reads more rows than it needs: the table, and how. */
export interface Scan {
  table: string;
  how: string;
  /** Only rows of one merchant. */
  ofMerchant: boolean;
}

export interface Planner {
  scansOf(sql: string): Promise<Scan[]>;
  close(): Promise<void>;
}

/** For a database that `pretendLarge` has prepared. */
export async function postgresPlanner(url: string): Promise<Planner> {
  const client = new pg.Client(url);
  await client.connect();
  // One plan for every merchant, not a plan for the values of one call.
  await client.query('set plan_cache_mode = force_generic_plan');
  const { rows: indexes } = await client.query<Index>(
    `select cast(indexrelid as regclass)::text as name, indisunique and indnatts = 1 as "isOneRow",
        (select attname from pg_attribute where attrelid = indrelid and attnum = indkey[0]) as first from pg_index`,
  );
  const byName = new Map(indexes.map((index) => [index.name, index]));
  return {
    async scansOf(sql) {
      await client.query(`prepare statement as ${sql}`);
      try {
        const { rows: prepared } = await client.query(
          `select cardinality(parameter_types) as count from pg_prepared_statements where name = 'statement'`,
        );
        const nulls = Array.from({ length: prepared[0].count }, () => 'null');
        const { rows } = await client.query(
          `explain (format json) execute statement ${nulls.length > 0 ? `(${nulls})` : ''}`,
        );
        return scansIn(rows[0]['QUERY PLAN'][0].Plan, byName);
      } finally {
        await client.query('deallocate statement');
      }
    },
    close: () => client.end(),
  };
}

interface Index {
  name: string;
  /** Unique by one column. */
  isOneRow: boolean;
  /** Its first column. Null for an expression. */
  first: string | null;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: PlanNode[];
}

/** They return their rows one by one, as they read them. */
const STREAMS = /^(Limit|Subquery Scan|Result|LockRows|Append|Merge Append|Nested Loop|ModifyTable)$/;

function scansIn(
  node: PlanNode,
  indexes: ReadonlyMap<string, Index>,
  {
    table = node['Relation Name'],
    isLimited = false,
  }: { table?: string | undefined; isLimited?: boolean } = {},
): Scan[] {
  const type = node['Node Type'];
  // Combines two indexes, and reads only rows that are in both results.
  if (type === 'BitmapAnd') return [];
  // Of a join, only the first table is read no further than the limit.
  const limits = (index: number) =>
    type === 'Limit' || (isLimited && STREAMS.test(type) && (index === 0 || type !== 'Nested Loop'));
  const below = (node.Plans ?? []).flatMap((child, index) =>
    scansIn(child, indexes, { table: child['Relation Name'] ?? table, isLimited: limits(index) }),
  );
  // The catalog is small.
  if (table === undefined || table.startsWith('pg_')) return below;
  if (type === 'Seq Scan') return [{ table, how: type, ofMerchant: false }, ...below];
  if (!/^(Bitmap )?Index/.test(type)) return below;
  // In the order of the index, and no row that is read is left out.
  if (isLimited && type !== 'Bitmap Index Scan' && node.Filter === undefined) return below;
  const { isOneRow, first } = indexes.get(node['Index Name']!) ?? {};
  if (isOneRow) return below;
  const condition = node['Index Cond'];
  const how = `${type} ${node['Index Name']}`;
  if (condition === undefined || (first && !new RegExp(`\\b${first}\\b`).test(condition)))
    return [{ table, how: `${how} as a whole`, ofMerchant: false }, ...below];
  if (/^\(+(\w+\.)?merchant_id = [^()]+\)+$/.test(condition) && !condition.includes(' AND ')) {
    return [{ table, how: `${how} by merchant alone`, ofMerchant: true }, ...below];
  }
  return below;
}

/** SQLite plans by rules as long as nobody analyzes its tables, so they may be empty. */
export function sqlitePlanner(file: string): Planner {
  const database = new DatabaseSync(file, { readOnly: true });
  const namesOf = (sql: string) =>
    new Set(
      database
        .prepare(sql)
        .all()
        .map(({ name }) => String(name)),
    );
  const tables = namesOf(
    `select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'`,
  );
  const uniqueByMerchant = namesOf(
    `select l.name from sqlite_schema t, pragma_index_list(t.name) l where t.type = 'table' and l."unique" = 1
      and (select string_agg(i.name, ',') from pragma_index_info(l.name) i) = 'merchant_id'`,
  );
  const named = (sql: string, alias: string): string | undefined => {
    // For an insert, the plan has searches in tables that refer to this one. They run only after a violation.
    if (!new RegExp(`\\b${alias}\\b`).test(sql)) return undefined;
    if (tables.has(alias)) return alias;
    const found = new RegExp(`\\b(?:from|join|update|into|,)\\s+(\\w+)\\s+(?:as\\s+)?${alias}\\b`, 'i').exec(
      sql,
    );
    return found && tables.has(found[1]!) ? found[1] : undefined;
  };
  return {
    async scansOf(sql) {
      const details = database
        .prepare(`explain query plan ${sql.replace(/\$(\d+)/g, '?$1')}`)
        .all()
        .map(({ detail }) => String(detail));
      const isInOrder = /\blimit\b/.test(sql) && !details.some((how) => how.includes('TEMP B-TREE'));
      return details.flatMap((how): Scan[] => {
        const [, word, alias = ''] = /^(SCAN|SEARCH) (\w+)/.exec(how) ?? [];
        const table = word === undefined ? undefined : named(sql, alias);
        // Of what must exist, the first row is enough.
        if (table === undefined || /VIRTUAL TABLE| EXISTS /.test(how)) return [];
        const [, index = ''] = /INDEX (\w+) \(merchant_id=\?\)$/.exec(how) ?? [];
        const ofMerchant = index !== '' && !uniqueByMerchant.has(index);
        if (isInOrder && how.includes('INDEX')) return [];
        return word === 'SCAN' || ofMerchant ? [{ table, how, ofMerchant }] : [];
      });
    },
    close: async () => database.close(),
  };
}
