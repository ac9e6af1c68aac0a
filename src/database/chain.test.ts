import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { chainParams, chainSql, type Row, runSteps, type Step } from './chain.ts';

const order = (...customers: string[]): Step[] => [
  {
    name: 'orders',
    rows: {
      columns: { customer: 'text' },
      values: customers.map((customer) => ({ customer })),
      newIdsOf: 'sales',
    },
    sql: `insert into sales (id, customer) select id, customer from orders_rows where customer <> 'nobody'
      returning id, customer`,
  },
  { name: 'log', sql: 'insert into orders_log select id from orders returning id' },
];

describe('a chain on PostgreSQL', () => {
  it('is one statement, with one parameter for the rows of a step', () => {
    assert.equal(
      chainSql(order('Ana')).replace(/\s+/g, ' '),
      `with orders_rows as materialized (select r.*, nextval(pg_get_serial_sequence('sales', 'id')) as id ` +
        `from json_to_recordset(cast($1 as json)) as r (customer text) limit (select 1000000)), ` +
        `orders as (insert into sales (id, customer) select id, customer from orders_rows where customer <> 'nobody' ` +
        `returning id, customer), log as (insert into orders_log select id from orders returning id) select * from orders`,
    );
    assert.deepEqual(chainParams([order('Ana')]), ['[{"customer":"Ana"}]']);
  });

  it('has the same text for any number of rows, and shares it with chains that have the same texts', () => {
    assert.equal(chainSql(order('Ana', 'Ben')), chainSql(order('Cleo')));
    assert.deepEqual(chainParams([order('Ana', 'Ben'), order('Cleo')]), [
      '[{"customer":"Ana"},{"customer":"Ben"},{"customer":"Cleo"}]',
    ]);
  });

  it('sets the longest wait for a lock before it writes anything', () => {
    assert.match(
      chainSql(order('Ana'), 100),
      /^with orders_rows as materialized \(select [^(]*\([^)]*\)\) as id, set_config\('lock_timeout', '100', true\)/,
    );
  });
});

describe('a chain on SQLite', () => {
  const database = new DatabaseSync(':memory:');
  database.exec(`create table sales (id integer primary key autoincrement, customer text);
    create table orders_log (id integer);
    insert into sales (id, customer) values (41, 'Zoe'); delete from sales;`);
  const run = (steps: readonly Step[]) =>
    runSteps(steps, {
      run(sql, params) {
        const statement = database.prepare(sql.replace(/\$(\d+)/g, '?$1'));
        const rows = statement.all(...(params as string[])) as Row[];
        return { rows, columns: statement.columns().map(({ name }) => name) };
      },
      lastIdOf: (table) =>
        Number(database.prepare('select seq from sqlite_sequence where name = ?').get(table)?.seq ?? 0),
    });
  const logged = () =>
    database
      .prepare('select id from orders_log')
      .all()
      .map(({ id }) => id);

  it('returns what its first step is returning, with ids that were never used', () => {
    assert.deepEqual(
      run(order('Ana', 'Ben')).map((row) => ({ ...row })),
      [
        { id: 42, customer: 'Ana' },
        { id: 43, customer: 'Ben' },
      ],
    );
    assert.deepEqual(logged(), [42, 43]);
  });

  it('writes nothing after a step that returned no row', () => {
    assert.deepEqual(run(order('nobody')), []);
    assert.deepEqual(logged(), [42, 43]);
  });
});
