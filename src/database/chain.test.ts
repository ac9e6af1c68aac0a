import assert from 'node:assert/strict';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { MerchantId } from '../contract/ids.ts';
import { type Chain, chainKey, chainParams, chainSql, defineChange, defineInsert } from './chain.ts';
import { lockGates, numbersWanted, runSteps } from './chainSteps.ts';
import type { Param } from './database.ts';

const SHOP = 7 as MerchantId;

const SOLD = defineChange({
  do: 'update',
  table: 'stock',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  set: 'pieces = stock.pieces - 1',
  where: 'stock.id = r.id and stock.pieces > 0',
  returning: 'id',
});
const SALE = defineInsert({
  table: 'sales',
  columns: { merchant_id: 'bigint', item: 'bigint', customer: 'text' },
});
const SHELF = defineInsert({
  table: 'shelves',
  columns: { merchant_id: 'bigint', version: 'text' },
  onConflict: '(merchant_id) do update set version = excluded.version',
  merge: { version: 'max' },
});

/** Sells one piece of something that is in stock, and notes who bought it. */
const sale = (item: number, ...customers: string[]): Chain => ({
  gate: { shape: SOLD, values: [{ merchant_id: SHOP, id: item }] },
  steps: [
    { shape: SALE, values: customers.map((customer) => ({ merchant_id: SHOP, item, customer })) },
    { shape: SHELF, values: [{ merchant_id: SHOP, version: 'new' }] },
  ],
});

describe('a chain on PostgreSQL', () => {
  const plain = (sql: string) => sql.replace(/\s+/g, ' ');

  it('is one statement, with one parameter for the rows of a step', () => {
    const rows = (columns: string, parameter: number) =>
      `json_to_recordset(cast($${parameter} as json)) as r (chain integer, ${columns})`;
    assert.equal(
      plain(chainSql(sale(1, 'Ana'))),
      `with gate_rows as materialized (select r.* from ${rows('merchant_id bigint, id bigint', 1)} ` +
        'limit (select 1000000)), ' +
        'gate as (update stock set pieces = stock.pieces - 1 from gate_rows r ' +
        'where stock.merchant_id = r.merchant_id and stock.id = r.id and stock.pieces > 0 ' +
        'returning r.chain, r.id), ' +
        'step_1 as (insert into sales (merchant_id,item,customer) select r.merchant_id,r.item,r.customer ' +
        `from ${rows('merchant_id bigint, item bigint, customer text', 2)} ` +
        'where r.chain in (select gate.chain from gate) ' +
        'returning 1 as done), ' +
        'step_2 as (insert into shelves (merchant_id,version) select r.merchant_id,max(r.version) ' +
        `from ${rows('merchant_id bigint, version text', 3)} ` +
        'where r.chain in (select gate.chain from gate) ' +
        'group by r.merchant_id order by r.merchant_id ' +
        'on conflict (merchant_id) do update set version = excluded.version returning 1 as done) select * from gate',
    );
  });

  it('has the same text for any number of rows and chains', () => {
    assert.equal(chainSql(sale(1, 'Ana', 'Ben')), chainSql(sale(2, 'Cleo')));
    assert.equal(chainKey(sale(1, 'Ana', 'Ben')), chainKey(sale(2, 'Cleo')));
    assert.deepEqual(chainParams([sale(1, 'Ana', 'Ben'), sale(2, 'Cleo')]).slice(0, 2), [
      '[{"chain":0,"merchant_id":7,"id":1},{"chain":1,"merchant_id":7,"id":2}]',
      '[{"chain":0,"merchant_id":7,"item":1,"customer":"Ana"},{"chain":0,"merchant_id":7,"item":1,"customer":"Ben"},' +
        '{"chain":1,"merchant_id":7,"item":2,"customer":"Cleo"}]',
    ]);
  });

  it('sets the longest wait for a lock before it writes anything', () => {
    const sql = plain(chainSql(sale(1, 'Ana'), 100));
    assert.match(
      sql,
      /^with gate_rows as materialized \(select r\.\*, set_config\('lock_timeout', '100', true\)/,
    );
    assert.equal(sql.split('set_config').length, 2);
  });

  it('locks rows in the order of its steps, with and without a gate', () => {
    const { gate, steps } = sale(1, 'Ana');
    const shelf = steps[1]!;
    /** For each step, those that it waits for. PostgreSQL runs what does not wait in any order. */
    const waits = (chain: Chain) =>
      plain(chainSql(chain))
        .split(/(?=\bstep_\d as \()/)
        .slice(1)
        .map((part) => [...part.matchAll(/\(select count\(\*\) from (\w+)\) >= 0/g)].map(([, name]) => name));
    assert.deepEqual(waits({ gate: gate!, steps: [gate!, ...steps, shelf] }), [
      [],
      [],
      ['step_1'],
      ['step_3'],
    ]);
    assert.deepEqual(waits({ steps: [gate!, ...steps] }), [[], [], ['step_0']]);
  });
});

describe('a chain of single statements', () => {
  const database = new DatabaseSync(':memory:');
  database.exec(`create table stock (merchant_id integer, id integer, pieces integer);
    create table sales (merchant_id integer, item integer, customer text);
    create table shelves (merchant_id integer primary key, version text);
    insert into stock values (7, 1, 1), (8, 1, 5);`);
  const texts: string[] = [];
  const run = (chain: Chain) =>
    runSteps<{ id: number }>(chain, {
      engine: 'sqlite',
      isSpread: false,
      async run<Found>(sql: string, params: readonly Param[]) {
        texts.push(sql);
        const statement = database.prepare(sql.replace(/\$(\d+)/g, '?$1'));
        return statement.all(...(params as SQLInputValue[])) as Found[];
      },
      async count(sql: string, params: readonly Param[]) {
        texts.push(sql);
        const statement = database.prepare(sql.replace(/\$(\d+)/g, '?$1'));
        return Number(statement.run(...(params as SQLInputValue[])).changes);
      },
      newIds: async () => [],
    });
  const sold = () => database.prepare('select customer from sales').all().length;

  it('returns what its gate is returning, and writes the rest', async () => {
    assert.deepEqual(await run(sale(1, 'Ana', 'Ben')), [{ id: 1 }]);
    assert.equal(sold(), 2);
    assert.equal(database.prepare('select version from shelves').get()!.version, 'new');
  });

  it('writes nothing if the gate finds nothing', async () => {
    assert.deepEqual(await run(sale(1, 'Cleo')), []);
    assert.equal(sold(), 2);
  });

  it('names the merchant and one table in each statement, and inserts values', () => {
    for (const text of texts) {
      assert.match(
        text,
        /^(update stock .* where stock\.merchant_id = \$1|insert into \w+ \([\w,]+\) values )/,
      );
    }
  });
});

describe('a chain on a cluster', () => {
  const NOTE = defineInsert({ table: 'deliveries', columns: { merchant_id: 'bigint', content: 'text' } });
  const NUMBERED = defineInsert({ table: 'deliveries', columns: { id: 'bigint', merchant_id: 'bigint' } });

  /** What it does, one after another. */
  async function doneBy(chain: Chain): Promise<[what: string, ...params: readonly Param[]][]> {
    const done: [string, ...Param[]][] = [];
    let lastId = 40;
    await runSteps(chain, {
      engine: 'postgres',
      isSpread: true,
      async lock(name) {
        done.push(['lock', name]);
      },
      async run(sql, params) {
        done.push([sql.replace(/\s+/g, ' ').trim(), ...params]);
        return [];
      },
      async count(sql, params) {
        done.push([sql.replace(/\s+/g, ' ').trim(), ...params]);
        return 0;
      },
      async newIds(table, count) {
        done.push(['draw', table, count]);
        return Array.from({ length: count }, () => ++lastId);
      },
    });
    return done;
  }

  it('draws on a cluster the ids that its rows lack, before it inserts them', async () => {
    const notes = ['One.', 'Two.'].map((content) => ({ merchant_id: SHOP, content }));
    const steps = [
      { shape: NOTE, values: notes },
      { shape: NUMBERED, values: [{ id: 9, merchant_id: SHOP }] },
    ];
    assert.deepEqual(await doneBy({ steps }), [
      ['draw', 'deliveries', 2],
      [
        'insert into deliveries (merchant_id,content,id) values ($1,$2,$3),($1,$4,$5)',
        ...[SHOP, 'One.', 41, 'Two.', 42],
      ],
      ['insert into deliveries (id,merchant_id) values ($2,$1)', SHOP, 9],
    ]);
  });

  it('uses the numbers that were drawn before', async () => {
    const chain: Chain = { steps: [{ shape: NOTE, values: [{ merchant_id: SHOP, content: 'One.' }] }] };
    assert.deepEqual(numbersWanted(chain), { deliveries: 1 });
    assert.deepEqual(await doneBy({ ...chain, numbers: { deliveries: [77] } }), [
      ['insert into deliveries (merchant_id,content,id) values ($1,$2,$3)', SHOP, 'One.', 77],
    ]);
  });

  it('that shares a transaction with others locks what their gates change first, in the order of their ids', async () => {
    const locked: [string, ...Param[]][] = [];
    const runner = {
      async run<Found>(sql: string, params: readonly Param[]): Promise<Found[]> {
        locked.push([sql.split(' where ')[0]!, ...params]);
        return [];
      },
    };
    await lockGates([sale(3, 'Ana'), { steps: [] }, sale(2, 'Ben')], runner);
    assert.deepEqual(locked, [['select id from stock', SHOP, [3, 2]]]);
    await lockGates([sale(3, 'Ana')], runner);
    assert.equal(locked.length, 1, 'a chain alone has the right order');
  });

  it('locks on a cluster its name, then the rows in the order of their ids, then writes', async () => {
    const values = [3, 2].map((id) => ({ merchant_id: SHOP, id }));
    const done = await doneBy({ lock: 'shelf 7', steps: [{ shape: SOLD, values }] });
    assert.deepEqual(done.slice(0, 2), [
      ['lock', 'shelf 7'],
      [
        'select id from stock where merchant_id = $1 and id = any(cast($2 as bigint[])) order by id for update',
        SHOP,
        [3, 2],
      ],
    ]);
    assert.deepEqual(
      done.slice(2).map(([sql, ...params]) => [sql.slice(0, 12), ...params]),
      [
        ['update stock', SHOP, 3],
        ['update stock', SHOP, 2],
      ],
    );
  });
});
