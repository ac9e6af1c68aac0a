import pg from 'pg';

/** As many as PostgreSQL analyzes, and as many as it then believes that there are. */
const ROWS = 2000;
const PRETENDED_ROWS = 1_000_000;
const MERCHANTS = 10;

interface Table {
  name: string;
  columns: Column[];
  checks: string[];
}

interface Column {
  name: string;
  type: string;
  isNullable: boolean;
  /** What a check of it allows, and what partial indexes are about. */
  words: string[] | null;
}

const TABLES = `select cast(c.oid as regclass)::text as name,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null), 'isNullable', not a.attnotnull,
        'words', (select array_agg(distinct w[1]) from (
            select pg_get_constraintdef(oid) as text, '' as before from pg_constraint
              where conrelid = c.oid and contype = 'c' and conkey = array[a.attnum]
            union all select pg_get_expr(indpred, indrelid), a.attname || ' = ' from pg_index
              where indrelid = c.oid and indpred is not null) conditions,
          regexp_matches(text, before || '''(\\w+)''', 'g') w)) order by a.attnum)
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
    array(select quote_ident(conname) from pg_constraint where conrelid = c.oid and contype = 'c') as checks
  from pg_class c where c.relkind = 'r' and c.relnamespace = cast('public' as regnamespace)`;

/**
 * Makes PostgreSQL plan as if every table had a million rows: also one that a migration adds. It believes the figures in
 * its catalog.
 */
export async function pretendLarge(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  // Without foreign keys and triggers.
  await client.query('set session_replication_role = replica');
  const { rows: tables } = await client.query<Table>(TABLES);
  for (const { name, columns, checks } of tables) {
    for (const check of checks) await client.query(`alter table ${name} drop constraint ${check}`);
    await client.query(
      `insert into ${name} (${columns.map((column) => column.name)}) overriding system value
        select ${columns.map(valueFor)} from generate_series(1, ${ROWS}) n on conflict do nothing`,
    );
  }
  await client.query('analyze');
  await client.query(
    `update pg_class set reltuples = ${PRETENDED_ROWS}
      where relkind in ('r', 'i') and relnamespace = cast('public' as regnamespace)`,
  );
  await client.end();
}

/** So that there are rows in the partial indexes, too: values and nulls are there in all combinations. */
function valueFor({ name, type, isNullable, words }: Column): string {
  const value = () => {
    if (name === 'merchant_id') return `n % ${MERCHANTS} + 100`;
    // 0 is none: a message to a customer, or one that answers nothing.
    if (name === 'endpoint_id') return 'case when n % 4 = 0 then n else 0 end';
    if (name === 'notification_id') return 'case when n % 4 = 1 then 0 else n end';
    // What became of a notification is generated from it.
    if (name === 'answer') return `case when n % 2 = 0 then '{"resolve_only":true}' else '{}' end`;
    if (/int/.test(type))
      return /(^|_)(id|seq|position|version|document|conversation)$/.test(name) ? 'n' : 'n % 2';
    if (words) return `('{${words}}'::text[])[n % ${words.length} + 1]`;
    if (/(^|_)(at|until|on|day|quarter)$/.test(name))
      return `to_char(timestamp '2026-01-01' + n * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
    if (type === 'text') return `'${name} ' || n`;
    return /double|numeric/.test(type) ? 'n' : `cast('' as ${type})`;
  };
  return isNullable ? `case when n / 11 % 2 = 0 then ${value()} end` : value();
}
