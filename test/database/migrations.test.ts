import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate, migrationStatus } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { listChanges, runStep } from '../../src/database/upgrade/changes.ts';
import { MIGRATIONS, readMigrations } from '../../src/database/upgrade/files.ts';
import { VERSION } from '../../src/version.ts';
import { run } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { root } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';
import { until } from '../support/shops.ts';

const now = () => new Date();
const EXPAND = `-- @expand ${VERSION}\n`;
const VISITS = `-- @background visitors
update visitors set visits = visits + 1 where merchant_id = $1 and id > $2 and id <= $3;`;
onEachEngine('migrations', (engine) => {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  const url = () => pathToFileURL(`${folder}/`);
  const known = () => readMigrations(engine, url());
  const add = (file: string, sql: string) => writeFileSync(join(folder, file), sql);
  const change = (file: string, edit: (text: string) => string) => {
    const text = readFileSync(join(folder, file), 'utf8');
    assert.notEqual(edit(text), text);
    add(file, edit(text));
  };
  const migrateMore = () => migrate(database, now, url());
  const cli = (...args: string[]) => run(args, { env: testDatabase.env });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-test-'));
    testDatabase = await createTestDatabase(engine);
    database = await openDatabase(readConfig(testDatabase.env), 'command');
    await migrate(database, now);
    await database.script(`create table visitors (
      merchant_id bigint not null, id bigint not null, visits integer not null default 0, primary key (merchant_id, id));`);
    for (const merchantId of [2, 7]) {
      const values = Array.from({ length: 450 }, (_, n) => `(${merchantId}, ${n + 1})`);
      await database.run(`insert into visitors (merchant_id, id) values ${values}`);
    }
  });
  after(async () => {
    await database?.close();
    await testDatabase?.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const restoreFiles = () => {
    rmSync(folder, { recursive: true, force: true });
    cpSync(join(root, 'migrations'), folder, { recursive: true });
  };
  beforeEach(async () => {
    restoreFiles();
    await database.run('delete from schema_migrations where version > 9000');
    await database.run('delete from background_changes');
    await database.run('update visitors set visits = 0');
  });

  it('may change their comments and white space, but no statement and no trigger', async () => {
    const changed = /^Migration 0001_foundation was changed after it was applied\. Restore its file\.$/;
    assert.deepEqual(await migrateMore(), []);
    change(
      '0001_foundation.sql',
      (text) => `-- Reworded.\n${text.replace(/--(?! @).*/g, '-- New words;')}\n`,
    );
    change('0002_delivery.sql', (text) => text.replaceAll('  ', '\t'));
    assert.deepEqual(await migrateMore(), []);
    for (const [from, to] of [
      ['name text not null', 'name text'],
      ['on conflict (merchant_id) do update', 'on conflict do update'],
    ] as const) {
      restoreFiles();
      change('0001_foundation.sql', (text) => text.replaceAll(from, to));
      await assert.rejects(migrateMore(), { message: changed });
    }
  });

  it('change nothing if one of them fails', async () => {
    add('9001_failing.sql', 'create table half (a text); insert into nowhere values (1);');
    await assert.rejects(migrateMore());
    await assert.rejects(database.all('select * from half'));
    add('9001_failing.sql', 'create table half (a text);');
    assert.deepEqual(
      (await migrateMore()).map(({ version }) => version),
      [9001],
    );
    assert.deepEqual(await database.all('select * from half'), []);
  });

  it('let an older program use the database if they say so, and show it', async () => {
    add('9001_more.sql', `${EXPAND}create table more (id bigint);`);
    await migrateMore();
    // This program does not have the file.
    assert.deepEqual(await migrate(database, now), []);
    const { stdout } = await cli('db', 'status');
    assert.match(stdout, /It has 1 migration of a newer version\. Deskbell [\d.]+ can use it\./);
    assert.match(stdout, /9001_more .* by a newer version/);
    assert.equal((await cli('merchant', 'list')).code, 0);
    assert.match((await cli('doctor')).stdout, /! The tables have 1 migration of a newer version/);
  });

  it('refuse an older program if they support only newer versions, or none', async () => {
    for (const [sql, message] of [
      ['-- @contract 99.0.0\nselect 1;', /needs at least Deskbell 99\.0\.0\. Upgrade/],
      ['select 1;', /it has migration 9001_more\. Upgrade Deskbell\.$/],
    ] as const) {
      await database.run('delete from schema_migrations where version > 9000');
      add('9001_more.sql', sql);
      await migrateMore();
      await assert.rejects(migrate(database, now), { message });
      assert.match((await cli('db', 'migrate')).stderr.trim(), message);
      assert.match((await cli('doctor')).stdout, /✖ The database is newer than this Deskbell/);
    }
  });

  it('change many rows in steps, each row once, whoever is killed and however many workers there are', async () => {
    add('9001_visits.sql', `${EXPAND}${VISITS}`);
    await migrateMore();
    // A newer version's change is left to its workers.
    assert.equal(await runStep(database, now, readMigrations(engine, MIGRATIONS)), undefined);
    assert.equal((await listChanges(database)).length, 1);
    const visited = async (times: number) =>
      (await database.all('select id from visitors where visits = $1', [times])).length;
    assert.equal(await visited(0), 900);
    assert.equal(await runStep(database, now, known()), 0);
    assert.equal(await runStep(database, now, known()), 200);
    const progress = /Migration 9001 changes old rows in the background: 200 done/;
    for (const command of [['db', 'status'], ['doctor']])
      assert.match((await cli(...command)).stdout, progress);
    // A step that does not commit leaves nothing.
    const second = await openDatabase(readConfig(testDatabase.env), 'command');
    const rollBack = new Error('killed');
    const killed: Database = {
      ...second,
      transaction: (work) =>
        second.transaction(async (tx) => {
          await work(tx);
          throw rollBack;
        }),
    };
    await assert.rejects(runStep(killed, now, known()), rollBack);
    const worker = async (own: Database) => {
      while ((await listChanges(own, url())).length > 0) await runStep(own, now, known());
    };
    await Promise.all([worker(database), worker(second)]);
    await second.close();
    assert.equal(await visited(1), 900);
    assert.equal(await runStep(database, now, known()), undefined);
  });

  it('finish the changes before a migration that relies on them', async () => {
    add('9001_visits.sql', `${EXPAND}${VISITS}`);
    const rely = 'create table relied as select min(visits) as visits from visitors;';
    add('9002_rely.sql', `-- @contract ${VERSION}\n${rely}`);
    await migrateMore();
    assert.equal((await database.one<{ visits: number }>('select visits from relied'))?.visits, 1);
  });

  it('do not wait forever for another process that migrates, and name it', async () => {
    add('9001_other.sql', `${EXPAND}create table other (id bigint);`);
    await database.exclusively('migrate', async () => {
      const waiting = database.exclusively('migrate', async () => {}, 300);
      await assert.rejects(waiting, { message: new RegExp(`process ${process.pid}`) });
      // Whoever has nothing to do does not wait at all.
      assert.deepEqual(await migrate(database, now), []);
    });
    assert.equal((await migrateMore()).length, 1);
  });

  if (engine !== 'postgres') return;
  const connected = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client(testDatabase.env.DATABASE_URL);
    await client.connect();
    return work(client).finally(() => client.end());
  };

  it('may take longer than a request', () => database.script('select pg_sleep(3.5)'));

  it('make nobody wait for long behind a long query of somebody else', async () => {
    add('9001_column.sql', `${EXPAND}alter table visitors add column note text;`);
    await connected(async (longQuery) => {
      await longQuery.query('begin');
      await longQuery.query('select 1 from visitors limit 1');
      let migrated = false;
      const migrating = migrateMore().then(() => {
        migrated = true;
      });
      await connected(async (reader) => {
        const waits = `select 1 from pg_locks where relation = 'visitors'::regclass and not granted`;
        await until('it waits for its lock', async () => (await reader.query(waits)).rows.length > 0);
        // More than the migration waits at a time, and less than a request may take.
        await reader.query('set statement_timeout = 2500');
        await reader.query('select 1 from visitors limit 1');
      });
      assert.equal(migrated, false);
      await longQuery.query('commit');
      await migrating;
    });
    const sql = 'select note from visitors where id = 1 and merchant_id = 2';
    assert.deepEqual(await database.all(sql), [{ note: null }]);
  });

  it('build indexes while others write, and build those again that a crash left invalid', async () => {
    const index = 'create index visitors_visits on visitors (merchant_id, visits)';
    // As a crash leaves it.
    await connected(async (client) => {
      await client.query('insert into visitors (merchant_id, id) values (9, 1), (9, 2)');
      const unique = index.replace('create index', 'create unique index concurrently');
      await assert.rejects(client.query(unique), /could not create unique index/);
    });
    add('9001_index.sql', `${EXPAND}-- @concurrently\n-- For visits.\n${index};`);
    await connected(async (writer) => {
      await writer.query('begin');
      await writer.query('update visitors set visits = 5 where merchant_id = 9 and id = 1');
      const migrating = migrateMore();
      // It waits for this transaction, and blocks no other one.
      await database.run('update visitors set visits = 6 where merchant_id = 9 and id = 2');
      await writer.query('commit');
      await migrating;
    });
    const found = await database.one<{ valid: boolean; definition: string }>(
      `select indisvalid as valid, pg_get_indexdef(indexrelid) as definition from pg_index
        where indexrelid = to_regclass('visitors_visits')`,
    );
    assert.ok(found?.valid);
    assert.match(found.definition, /^CREATE INDEX/);
    assert.equal((await migrationStatus(database, url())).at(-1)?.name, 'index');
  });
});
