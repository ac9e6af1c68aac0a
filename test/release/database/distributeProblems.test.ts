import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import pg from 'pg';
import { root, run } from '../../support/command.ts';
import { distribute, NO_STAND_IN as skip, urlOf, useCluster } from '../../support/distributing.ts';
import { QUICK_START } from '../../support/program.ts';
import { until } from '../../support/shops.ts';

const REMEMBERED = `select to_regclass('distribution_keys') as name`;

describe('spreading that cannot begin', { skip }, () => {
  const cluster = useCluster();
  const env = () => cluster.testDatabase.env;
  const assertOpen = async () => {
    assert.deepEqual(await cluster.citus.query(REMEMBERED), [{ name: null }]);
    assert.deepEqual(await cluster.keys(), cluster.keysBefore);
    assert.equal((await run(['db', 'status'], { env: env() })).code, 0);
  };

  it('because of foreign keys or tables that Citus cannot spread, names each of them', async () => {
    const { citus, testDatabase } = cluster;
    for (const [create, drop, lines] of [
      [
        `create schema archive;
          create table archive.copies (merchant_id bigint, id bigint,
            constraint copies_key foreign key (merchant_id, id) references notifications (merchant_id, id));
          create table orders (merchant_id bigint, id bigint, document bigint, primary key (merchant_id, id),
            constraint orders_key foreign key (merchant_id, document) references documents (merchant_id, id) on delete set null);
          create table "My Labels" (id bigint primary key, merchant_id bigint, document bigint,
            constraint "My Key" foreign key (merchant_id, document) references documents (merchant_id, id))`,
        'drop schema archive cascade; drop table "My Labels"; drop table orders',
        [
          'Citus does not support 3 foreign keys of your own. Drop them first:',
          '  alter table "My Labels" drop constraint "My Key"; -- refers to documents: its row may be on another node',
          '  alter table archive.copies drop constraint copies_key; -- refers to notifications: its row may be on another node',
          '  alter table orders drop constraint orders_key; -- refers to documents: SET NULL, SET DEFAULT and ON UPDATE CASCADE are not possible with merchant_id',
          '',
        ],
      ],
      [
        `create table small_labels (merchant_id integer, id integer generated always as identity,
            primary key (merchant_id, id));
          create table "My Tags" (merchant_id bigint, id bigint, name text, primary key (merchant_id, id),
            constraint "My Names" unique (name) include (merchant_id))`,
        'drop table small_labels; drop table "My Tags"',
        [
          'Citus cannot spread these tables of your own. Change them first, or move them to another schema:',
          '  "My Tags": its unique index "My Names" has no merchant_id',
          '  small_labels: its identity id is integer, not bigint',
          '  small_labels: its merchant_id is integer, not bigint',
          '',
        ],
      ],
    ] as const) {
      await citus.query(create);
      for (const options of [['--dry-run'], []]) {
        const { code, stderr } = await distribute(testDatabase, ...options);
        assert.equal(code, 1);
        assert.deepEqual(stderr.split('\n'), lines);
      }
      await citus.query(drop);
      await assertOpen();
    }
  });

  it('succeeds with other tables and foreign keys of an operator, whatever their names are', async () => {
    const { citus, testDatabase } = cluster;
    await citus.query(`create schema archive; create table archive.kinds (id bigint primary key);
      create table region_1 (id bigint primary key, merchant_id bigint references merchants (id));
      create trigger unchanged before update on documents for each row execute function suppress_redundant_updates_trigger();
      create table visits (id bigint, merchant_id bigint references merchants (id)) partition by hash (id);
      create table visits_first partition of visits for values with (modulus 1, remainder 0);
      create table clicks (merchant_id bigint, id bigint, primary key (merchant_id, id)) partition by hash (id);
      create table clicks_first partition of clicks for values with (modulus 1, remainder 0);
      create table "O'Hara's" (id bigint primary key, kind_id bigint references archive.kinds (id),
        region_id bigint references region_1 (id));
      create table "My ""Labels""" (merchant_id bigint constraint "It's mine" references merchants (id), id bigint,
        primary key (merchant_id, id))`);
    const before = await cluster.keys();
    const { code, stderr } = await distribute(testDatabase);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await cluster.keys(), before);
    assert.equal((await citus.tables())['"My ""Labels"""'], 'distributed');
  });
});

describe('spreading in progress', { skip }, () => {
  const cluster = useCluster();

  it('is not called interrupted; Ctrl-C says where it has stopped', async () => {
    const { env } = cluster.testDatabase;
    const reader = new pg.Client(urlOf(cluster.testDatabase));
    await reader.connect();
    // It waits for this one.
    await reader.query('begin; lock table conversations in access share mode');
    const child = spawn(process.execPath, [`${root}src/cli/main.ts`, 'db', 'distribute'], {
      cwd: tmpdir(),
      env: { PATH: process.env.PATH!, ...QUICK_START, ...env },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    const ended = once(child, 'exit');
    try {
      await until('it waits', () => stderr.includes('Waiting for it'));
      const rightNow =
        /The tables are being spread over the nodes right now \(deskbell migrate, process \d+ on .+, since .+ UTC\)\. Wait until ".+ db distribute" has finished\.\n/;
      assert.match((await run(['db', 'status'], { env })).stderr, rightNow);
      assert.match((await run(['doctor'], { env })).stdout, rightNow);
      child.kill('SIGINT');
      const [code] = await ended;
      assert.equal(code, 130, stderr);
      assert.match(
        stderr,
        /\nStopped at "drop \w+ of \w+"\. Nothing else can open the database until you run it again\.\n$/,
      );
    } finally {
      child.kill('SIGKILL');
      await reader.end();
    }
    const { code, stderr: rest } = await distribute(cluster.testDatabase);
    assert.equal(code, 0, rest);
    assert.deepEqual(await cluster.keys(), cluster.keysBefore);
  });
});
