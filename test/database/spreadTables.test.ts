import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { EVERYWHERE } from '../../src/database/spread/layout.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';

/** Their `merchant_id` does not say whose the row is: it says how far a change has come. */
const NOT_OF_A_MERCHANT = ['background_changes'];

interface Table {
  name: string;
  columns: string[];
  primary_key: string[];
}
interface ForeignKey {
  name: string;
  from: string;
  to: string;
  columns: string[];
  references: string[];
  sets_null: boolean;
}

/** What a cluster demands of the tables, read from the catalog: so it holds for every table that is added. */
describe('the tables on a cluster', { skip: !engines.includes('postgres') }, () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let tables: Table[];
  let foreignKeys: ForeignKey[];
  const isEverywhere = (table: string) => (EVERYWHERE as readonly string[]).includes(table);
  const isSpread = (table: string) =>
    !isEverywhere(table) && tables.find(({ name }) => name === table)?.primary_key[0] === 'merchant_id';

  before(async () => {
    testDatabase = await createDemoDatabase('postgres');
    database = await openDatabase(readConfig(testDatabase.env), 'command');
    // Without a prepared database it is empty.
    await migrate(database, () => new Date());
    tables = await database.all<Table>(
      `select c.relname as name,
          array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
          coalesce((select ${columnsOf('c.oid', 'k.conkey')} from pg_constraint k
            where k.conrelid = c.oid and k.contype = 'p'), '{}') as primary_key
        from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace order by 1`,
    );
    foreignKeys = await database.all<ForeignKey>(
      `select k.conname as name, k.conrelid::regclass::text as from, k.confrelid::regclass::text as to,
          ${columnsOf('k.conrelid', 'k.conkey')} as columns, ${columnsOf('k.confrelid', 'k.confkey')} as references,
          k.confdeltype in ('n', 'd') as sets_null
        from pg_constraint k join pg_class c on c.oid = k.conrelid
        where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace order by 1`,
    );
    assert.ok(tables.length > 60 && foreignKeys.length > 40);
  });
  after(async () => {
    await database?.close();
    await testDatabase?.remove();
  });

  it('are spread by merchant if they have a merchant', () => {
    const kept = tables.filter(({ name, columns }) => columns.includes('merchant_id') && !isSpread(name));
    assert.deepEqual(
      kept.map(({ name }) => name),
      [...NOT_OF_A_MERCHANT, 'users'],
    );
  });

  it('have no primary or unique key that does not begin with the merchant', async () => {
    const keys = await database.all<{ table: string; name: string; first: string }>(
      `select t.relname as table, i.relname as name, a.attname as first
        from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
          left join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
        where x.indisunique and t.relnamespace = current_schema()::regnamespace`,
    );
    const own = keys.filter(({ table }) => isSpread(table));
    assert.ok(own.length > 40);
    for (const { first, name } of own) assert.equal(first, 'merchant_id', name);
  });

  it('have foreign keys that one node can check', () => {
    const problems = foreignKeys.flatMap(({ name, from, to, columns, references, sets_null }) => {
      const place = columns.indexOf('merchant_id');
      if (isSpread(from) && isSpread(to)) {
        if (place === -1 || references[place] !== 'merchant_id') return [`${name} without the merchant`];
        return sets_null ? [`${name} would set the merchant to null`] : [];
      }
      if (isSpread(from)) return isEverywhere(to) ? [] : [`${name} to a table of the coordinator`];
      return isSpread(to) ? [`${name} to a spread table`] : [];
    });
    assert.deepEqual(problems, []);
  });
});

/** The names of the columns of a key, in its order. */
function columnsOf(table: string, numbers: string): string {
  return `(select array_agg(a.attname::text order by n.place) from unnest(${numbers}) with ordinality n (number, place)
    join pg_attribute a on a.attrelid = ${table} and a.attnum = n.number)`;
}
