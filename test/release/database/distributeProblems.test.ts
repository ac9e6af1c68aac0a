import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { distribute as distributeTables } from '../../../src/database/spread/distribute.ts';
import { root, run } from '../../support/command.ts';
import {
  distribute,
  distributeAndKill,
  NO_STAND_IN as skip,
  urlOf,
  useCluster,
} from '../../support/distributing.ts';
import { QUICK_START } from '../../support/program.ts';

const REMEMBERED = `select to_regclass('distribution_keys') as name`;

describe('spreading that cannot begin', { skip }, () => {
  const cluster = useCluster();
  const env = () => cluster.testDatabase.env;
  const assertOpen = async () => {
    assert.deepEqual(await cluster.citus.query(REMEMBERED), [{ name: null }]);
    assert.deepEqual(await cluster.keys(), cluster.keysBefore);
    assert.equal((await run(['db', 'status'], { env: env() })).code, 0);
  };

  it('because a server has started at the same moment, changes nothing', async () => {
    const database = await openDatabase(readConfig(env()), 'distribute');
    const steps: string[] = [];
    try {
      await assert.rejects(
        distributeTables(database, {
          dryRun: false,
          // It starts while the foreign keys are written down.
          countRunning: async () => ((await database.one<{ name: string | null }>(REMEMBERED))!.name ? 1 : 0),
          countPendingMigrations: async () => 0,
          onStep: ({ what }) => void steps.push(what),
          onSkipped() {},
        }),
        /1 server or worker runs on this database\. Stop all of them first/,
      );
    } finally {
      await database.close();
    }
    assert.equal(steps.length, 1);
    await assertOpen();
  });

  it('because its first change fails, leaves the database open', async () => {
    await cluster.citus.failEvery(1);
    const { code, stderr } = await distribute(cluster.testDatabase);
    await cluster.citus.failEvery(0);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /\nIt failed at "function on every node: document_changed\(\)": connection to the remote node worker-1:5432 failed\. Check that it runs\. Nothing was changed\. Fix it and run the same command again\.\n$/,
    );
    await assertOpen();
  });

  it('because the role does not own the tables, says so before anything is changed', async () => {
    const { citus, testDatabase } = cluster;
    await citus.query(`do $$ begin create role deskbell_reader login password 'reader-of-tests';
        exception when duplicate_object then null; end $$;
      grant usage, create on schema public to deskbell_reader;
      grant all on all tables in schema public to deskbell_reader`);
    const url = new URL(urlOf(testDatabase));
    url.username = 'deskbell_reader';
    url.password = 'reader-of-tests';
    const { DATABASE_DIRECT_URL: _, ...others } = env();
    for (const options of [['--dry-run'], []]) {
      const { code, stderr } = await run(['db', 'distribute', ...options], {
        env: { ...others, DATABASE_URL: url.href },
      });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^The role "deskbell_reader" does not own all tables, so it cannot distribute them \(\w+(, \w+){4} and \d+ more\)\. Make the role the owner of the tables\.\n$/,
      );
    }
    await citus.query('drop owned by deskbell_reader; drop role deskbell_reader');
    await assertOpen();
  });

  it('because the role does not own the function of a trigger, says so before anything is changed', async () => {
    const { citus, testDatabase } = cluster;
    const url = new URL(urlOf(testDatabase));
    const { DATABASE_DIRECT_URL: _, ...others } = env();
    await citus.query(`create role deskbell_owner login password 'owner-of-tests';
      grant all on schema public to deskbell_owner;
      do $$ declare t record; begin
        for t in select oid::regclass as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
          execute format('alter table %s owner to deskbell_owner', t.name);
        end loop;
      end $$`);
    const owner = url.username;
    try {
      url.username = 'deskbell_owner';
      url.password = 'owner-of-tests';
      const { code, stderr } = await run(['db', 'distribute'], {
        env: { ...others, DATABASE_URL: url.href },
      });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^The role "deskbell_owner" does not own the functions of all triggers, so it cannot create them on the nodes \(document_changed\(\), notification_changed\(\)\)\. Make the role the owner of the functions\.\n$/,
      );
    } finally {
      await citus.query(
        `reassign owned by deskbell_owner to ${owner}; drop owned by deskbell_owner; drop role deskbell_owner`,
      );
    }
    await assertOpen();
  });

  it('because of foreign keys that Citus does not support, names each of them', async () => {
    const { citus, testDatabase } = cluster;
    await citus.query(`create schema archive;
      create table archive.copies (merchant_id bigint, id bigint,
        constraint copies_key foreign key (merchant_id, id) references notifications (merchant_id, id));
      create table region_1 (merchant_id bigint, id bigint,
        constraint region_key foreign key (merchant_id, id) references notifications (merchant_id, id));
      create table orders (merchant_id bigint, id bigint, document bigint, primary key (merchant_id, id),
        constraint orders_key foreign key (merchant_id, document) references documents (merchant_id, id) on delete set null);
      create table "My Labels" (id bigint primary key, merchant_id bigint, document bigint,
        constraint "My Key" foreign key (merchant_id, document) references documents (merchant_id, id))`);
    for (const options of [['--dry-run'], []]) {
      const { code, stderr } = await distribute(testDatabase, ...options);
      assert.equal(code, 1);
      assert.deepEqual(stderr.split('\n').slice(1), [
        '  alter table "My Labels" drop constraint "My Key"; -- refers to documents: its row may be on another node',
        '  alter table archive.copies drop constraint copies_key; -- refers to notifications: its row may be on another node',
        '  alter table orders drop constraint orders_key; -- refers to documents: SET NULL, SET DEFAULT and ON UPDATE CASCADE are not possible with merchant_id',
        '  alter table region_1 drop constraint region_key; -- refers to notifications: its row may be on another node',
        '',
      ]);
      assert.match(stderr, /^Citus does not support 4 foreign keys of your own\. Drop them first:\n/);
    }
    await citus.query(
      `drop schema archive cascade; drop table region_1; drop table "My Labels"; drop table orders`,
    );
    await assertOpen();
  });

  it('because of tables that Citus cannot spread, names each of them', async () => {
    const { citus, testDatabase } = cluster;
    await citus.query(`create table small_labels (merchant_id integer, id integer generated always as identity,
        primary key (merchant_id, id));
      create table "My Tags" (merchant_id bigint, id bigint, name text, primary key (merchant_id, id),
        constraint "My Names" unique (name) include (merchant_id))`);
    for (const options of [['--dry-run'], []]) {
      const { code, stderr } = await distribute(testDatabase, ...options);
      assert.equal(code, 1);
      assert.deepEqual(stderr.split('\n'), [
        'Citus cannot spread these tables of your own. Change them first, or move them to another schema:',
        '  "My Tags": its unique index "My Names" has no merchant_id',
        '  small_labels: its identity id is integer, not bigint',
        '  small_labels: its merchant_id is integer, not bigint',
        '',
      ]);
    }
    await citus.query(`drop table small_labels; drop table "My Tags"`);
    await assertOpen();
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

describe('spreading that was interrupted', { skip }, () => {
  const cluster = useCluster();

  it('comes to its end after an upgrade, and then wants the migration', async () => {
    const { citus, testDatabase, keysBefore } = cluster;
    await citus.query(
      'create table labels (id bigint primary key, merchant_id bigint references merchants (id))',
    );
    await distributeAndKill(cluster, { sql: 'create_distributed_table', nth: 3 });
    // As a newer version sees it.
    await citus.query(`create table citus_stand_in.newest as select * from schema_migrations where version = 33;
      delete from schema_migrations where version = 33`);
    // Its foreign key is written down.
    await citus.query('drop table labels');
    const { code, stdout, stderr } = await distribute(testDatabase);
    await citus.query('insert into schema_migrations select * from citus_stand_in.newest');
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /^Going on after an interruption\. \d+ tables to distribute, \d+ foreign keys to add/,
    );
    assert.match(
      stdout,
      /\nThe tables are not up to date: 1 migration pending\. Run ".+ db migrate", and then/,
    );
    assert.deepEqual(await cluster.keys(), keysBefore);
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
      for (let tries = 0; !stderr.includes('Waiting for it') && tries < 300; tries += 1) await sleep(100);
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
