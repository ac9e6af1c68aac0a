import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Config } from '../../../src/config.ts';
import type { Database, Engine } from '../../../src/database/database.ts';
import { databaseFile } from '../../../src/database/sqliteFolder.ts';
import type { Deskbell } from '../server.ts';

/** How often the first merchant's rows are copied, and the merchants that share the copies. */
const COPIES = 40;
const MERCHANTS = 4;
/** The number of rows in a table without a merchant column. */
const SHARED_ROWS = 4000;
/** Tables that stay small: one row per version, key or schema, or one per merchant and topic. */
const SMALL = ['schema_migrations', 'signing_keys', 'answer_schemas', 'live_versions', 'vapid_keys'];

/**
 * Copies the rows of merchant 1 in every table to other merchants. It reads the columns from the schema, so a new table
 * is also filled as soon as the first merchant has rows in it.
 */
export async function fill({ database, config }: Pick<Deskbell, 'database' | 'config'>): Promise<void> {
  const statements: string[] = [];
  for (const table of await tablesOf(database)) {
    if (SMALL.includes(table)) continue;
    const columns = await columnsOf(database, table);
    const isTenant = columns.some(({ name }) => name === 'merchant_id');
    const { rows } = (await database.one<{ rows: number }>(`select count(*) as rows from ${table}`))!;
    if (rows === 0) continue;
    const copies = isTenant || table === 'merchants' ? COPIES : Math.ceil(SHARED_ROWS / rows);
    const from = isTenant
      ? 'where original.merchant_id = 1'
      : table === 'merchants'
        ? 'where id = 1'
        : 'where true';
    const values = columns.map(({ name, isInteger, isUnique }) => {
      if (name === 'merchant_id' || (table === 'merchants' && name === 'id'))
        return `copy.n % ${MERCHANTS} + 100`;
      // 0 is no endpoint: a message to a customer.
      if (name === 'endpoint_id')
        return 'case when original.endpoint_id = 0 then 0 else original.endpoint_id + cast(copy.n as bigint) * 1000000 end';
      // Different people fail to sign in.
      if (name === 'account') return `original.account || '-' || copy.n`;
      // One of a few words, which the table checks.
      if (name === 'what') return 'original.what';
      if (isInteger && /^id$|_id$/.test(name)) return `original.${name} + cast(copy.n as bigint) * 1000000`;
      return isUnique ? `original.${name} || '-' || copy.n` : `original.${name}`;
    });
    statements.push(
      `insert into ${table} (${columns.map(({ name }) => name)})
        with recursive copy (n) as (select 1 union all select n + 1 from copy where n < ${copies})
        select ${values} from ${table} original cross join copy ${from} on conflict do nothing`,
    );
  }
  await RUN[database.engine](config, statements);
}

/** Foreign keys are off, because copies refer to copies that are inserted later. */
const RUN: Record<Engine, (config: Config, statements: readonly string[]) => Promise<void>> = {
  async sqlite({ dataDir }, statements) {
    const database = new DatabaseSync(databaseFile(dataDir), {
      enableForeignKeyConstraints: false,
      timeout: 30_000,
    });
    database.exec(`begin immediate; ${statements.join(';\n')}; commit`);
    database.close();
  },
  async postgres({ databaseUrl }, statements) {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query('set session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
    // In production autovacuum does this. SQLite is never analyzed.
    await client.query('analyze');
    await client.end();
  },
};

/** Without SQLite's internal tables and those of its full-text index. */
async function tablesOf(database: Database): Promise<string[]> {
  const rows = await database.all<{ name: string }>(
    database.engine === 'sqlite'
      ? `select name from pragma_table_list where type = 'table' and schema = 'main' and name not like 'sqlite%'
          and name not like '%\\_index\\_%' escape '\\'`
      : `select table_name as name from information_schema.tables
          where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  return rows.map(({ name }) => name).filter((name) => !name.endsWith('_index'));
}

interface Column {
  name: string;
  isInteger: boolean;
  /** A text column that is part of a unique key. */
  isUnique: boolean;
}

async function columnsOf(database: Database, table: string): Promise<Column[]> {
  const columns = await database.all<{ name: string; type: string }>(
    database.engine === 'sqlite'
      ? 'select name, lower(type) as type from pragma_table_xinfo($1) where hidden = 0'
      : `select column_name as name, data_type as type from information_schema.columns
          where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
    [table],
  );
  const unique = await database.all<{ columns: string }>(
    database.engine === 'sqlite'
      ? `select (select string_agg(i.name, ',' order by i.seqno) from pragma_index_info(l.name) i) as columns
          from pragma_index_list($1) l where l."unique" = 1`
      : `select string_agg(a.attname, ',' order by k.place) as columns
          from pg_index i, unnest(i.indkey) with ordinality k (attribute, place), pg_attribute a
          where i.indrelid = cast(cast($1 as text) as regclass) and i.indisunique
            and a.attrelid = i.indrelid and a.attnum = k.attribute group by i.indexrelid`,
    [table],
  );
  const keys = new Set(unique.flatMap((index) => index.columns.split(',')));
  return columns.map(({ name, type }) => {
    const isInteger = /int/.test(type);
    return { name, isInteger, isUnique: !isInteger && keys.has(name) };
  });
}
