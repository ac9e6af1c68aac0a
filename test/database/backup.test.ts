import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Engine } from '../../src/database/database.ts';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { run, settingsOf } from '../support/command.ts';
import { tablesOf, untilUnused } from '../support/copying.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { type Deskbell, onEachEngine, raise, startDeskbell, useDeskbell } from '../support/server.ts';

/** A restore ends the sessions, holds what would be sent, begins a new log of events, and is recorded. */
const CHANGED_BY_RESTORE = ['sessions', 'revocations', 'sending_hold', 'event_logs', 'audit_events'];
const unchanged = (tables: object) =>
  Object.fromEntries(Object.entries(tables).filter(([name]) => !CHANGED_BY_RESTORE.includes(name)));

onEachEngine('a backup', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const targets: TestDatabase[] = [];
  let folder = '';
  let file = '';
  let key = '';
  before(async () => {
    folder = newFolder();
    file = join(folder, 'first.db');
    key =
      deskbell.config.secretKey ?? readFileSync(join(deskbell.config.dataDir, 'secret.key'), 'utf8').trim();
  });
  after(() => Promise.all(targets.map((target) => target.remove())));

  const newTarget = async (of: Engine = engine) => {
    const target = await createTestDatabase(of);
    Object.assign(target.env, { SECRET_KEY: key, DEMO: 'false' });
    targets.push(target);
    return target;
  };
  const backUp = (to: string, env = settingsOf(deskbell)) => run(['backup', to, '--json'], { env });
  const restore = async (from: string, { env }: TestDatabase) => {
    await untilUnused({ env });
    return run(['restore', from, '--json'], { env });
  };
  const idsIn = async ({ database }: Deskbell) =>
    (await database.all<{ id: number }>('select id from notifications order by id')).map(({ id }) => id);

  it('has every write that was acknowledged before it began, while writes go on, and restores into both engines', async () => {
    // As migration 32 does after three passkeys, of which none is left.
    if (engine === 'postgres') await deskbell.database.all(`select setval('passkeys_ids', 4, false)`);
    const token = await deskbell.signIn();
    for (let n = 0; n < 10; n += 1) await raise(deskbell, token);
    const before = await idsIn(deskbell);
    let writing = true;
    const writer = (async () => {
      while (writing) await raise(deskbell, token);
    })();
    const made = await backUp(file);
    writing = false;
    await writer;
    assert.equal(made.code, 0, made.stderr);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(existsSync(`${file}.partial`), false);
    for (const of of engines) {
      const target = await newTarget(of);
      const restored = await restore(file, target);
      assert.equal(restored.code, 0, restored.stderr);
      assert.equal(restored.json.key.fits, true);
      assert.deepEqual(unchanged(await tablesOf(target)), unchanged(made.json.tables));
      const copy = await startDeskbell(of, { WORKER: 'false' }, target);
      try {
        const ids = await idsIn(copy);
        assert.deepEqual(ids.slice(0, before.length), before);
        // Nobody may think that this is the one that was lost.
        const address = await raise(copy, await copy.signIn());
        assert.ok(Number(address.split('/').at(-1)) > ids.at(-1)! + 1000);
        assert.equal((await copy.call('GET', '/api/v1/auth/me', { token })).status, 401);
        if (engine === 'sqlite' || of === 'sqlite') continue;
        const next = await copy.database.one<{ id: number }>(`select nextval('passkeys_ids') as id`);
        assert.equal(next!.id, 1_000_004);
      } finally {
        await copy.close();
      }
    }
  });

  it('does not overwrite a file, and writes only into a folder of its own', async () => {
    const [existing, linked, taken] = ['existing.db', 'linked.db', 'taken.db'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    writeFileSync(existing, 'a file');
    const elsewhere = newFolder();
    writeFileSync(join(elsewhere, 'deskbell.db'), 'another database');
    symlinkSync(elsewhere, `${linked}.partial`);
    mkdirSync(`${taken}.partial`);
    writeFileSync(join(`${taken}.partial`, 'letter.txt'), 'of somebody');
    for (const [to, problem] of [
      [existing, /exists already/],
      [linked, /\.partial is not from an interrupted backup\./],
      [taken, /\.partial is not from an interrupted backup\./],
    ] as const) {
      const { code, stderr } = await backUp(to);
      assert.equal(code, 1);
      assert.match(stderr, problem);
    }
    assert.equal(readFileSync(existing, 'utf8'), 'a file');
    assert.equal(readFileSync(join(elsewhere, 'deskbell.db'), 'utf8'), 'another database');
    assert.equal(readFileSync(join(`${taken}.partial`, 'letter.txt'), 'utf8'), 'of somebody');
  });

  it('is refused if it is damaged, cut off, no backup, or from a newer version', async () => {
    if (!existsSync(file)) await backUp(file);
    const target = await newTarget();
    const changedBy = (sql: string) => (path: string) => {
      const connection = new DatabaseSync(path);
      connection.exec(sql);
      connection.close();
    };
    const flip = (path: string) => {
      // In a text: SQLite's own check does not see it. Everywhere: a page may keep the remains of moved rows.
      const bytes = readFileSync(path);
      const descriptor = openSync(path, 'r+');
      let at = bytes.indexOf('decaf beans');
      assert.ok(at > 0);
      for (; at >= 0; at = bytes.indexOf('decaf beans', at + 1)) writeSync(descriptor, 'X', at);
      closeSync(descriptor);
    };
    const ofBoth: [spoil: (path: string) => void, problem: RegExp][] = [
      [flip, /damaged or not a backup: .*differs from its source in /],
      [(path) => truncateSync(path, statSync(path).size / 2), /damaged or not a backup: it has/],
    ];
    const ofOne: typeof ofBoth = [
      [changedBy(`update backup_info set info = 'null'`), /about itself is not from Deskbell/],
      [
        changedBy(`update backup_info set info = json_set(info, '$.made_at', char(27) || '[2J')`),
        /about itself is not from Deskbell/,
      ],
      [(path) => truncateSync(path, 0), /not an SQLite file/],
      [
        changedBy(`insert into schema_migrations (version, name, checksum, applied_at)
          values (9999, 'later', 'x', '2026-01-15T09:30:00.000Z')`),
        /newer than this Deskbell/,
      ],
    ];
    for (const [n, [spoil, problem]] of (engine === 'sqlite' ? [...ofBoth, ...ofOne] : ofBoth).entries()) {
      const path = join(folder, `spoiled${n}.db`);
      copyFileSync(file, path);
      spoil(path);
      const { code, json } = await restore(path, target);
      assert.equal(code, 1);
      assert.match(json.error, problem);
      assert.doesNotMatch(json.error, /\n/);
    }
    assert.match((await restore(join(folder, 'none.db'), target)).json.error, /There is no file/);
    assert.equal((await restore(file, target)).code, 0, 'nothing was left behind');
  });

  it('is restored where a server was started once, but not into a database that is in use or not empty', async () => {
    if (!existsSync(file)) await backUp(file);
    const target = await newTarget();
    const server = await startDeskbell(engine, {}, target);
    assert.match((await run(['restore', file], { env: target.env })).stderr, /in use/);
    await server.close();
    assert.equal((await restore(file, target)).code, 0);
    assert.match((await restore(file, target)).stderr, /is not empty/);
  });

  if (engine === 'postgres') {
    it('is restored although a command has ended only a moment before', async () => {
      if (!existsSync(file)) await backUp(file);
      const target = await newTarget();
      const url = target.env.DATABASE_DIRECT_URL ?? target.env.DATABASE_URL!;
      const command = new pg.Client({ connectionString: url, application_name: 'deskbell' });
      await command.connect();
      const restoring = run(['restore', file, '--json'], { env: target.env });
      const restoreIsHere = `select 1 from pg_stat_activity
        where datname = current_database() and application_name = 'deskbell copy' and state = 'idle'`;
      while ((await command.query(restoreIsHere)).rows.length === 0) await sleep(20);
      await sleep(100);
      await command.end();
      const { code, stderr } = await restoring;
      assert.equal(code, 0, stderr);
    });

    it('is not ended by the time-outs of an address, nor by a table that is not ours, and a name hides no user', async () => {
      const withOption = ({ DATABASE_URL: url = '', ...env }: Record<string, string>, option: string) => ({
        ...env,
        DATABASE_URL: `${url}${url.includes('?') ? '&' : '?'}${option}`,
        DATABASE_DIRECT_URL: '',
      });
      const limits = `options=${encodeURIComponent('-c statement_timeout=1')}`;
      await deskbell.database.script('create table other_program (id bigint)');
      const limited = join(folder, 'limits.db');
      const made = await run(['backup', limited], { env: withOption(settingsOf(deskbell), limits) });
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /does not know it: other_program\./);
      const target = await newTarget();
      const env = withOption(target.env, 'application_name=mine');
      const user = await startDeskbell('postgres', { WORKER: 'false' }, { ...target, env });
      const restored = await run(['restore', limited], { env: withOption(target.env, limits) });
      assert.match(restored.stderr, /in use/);
      await user.close();
    });
    return;
  }

  it('names the secret keys that it needs, two of them during a change of the key', async () => {
    const env = settingsOf(deskbell);
    const changing = { SECRET_KEY: randomBytes(32).toString('base64url'), SECRET_KEY_PREVIOUS: key };
    for (const [name, keys, own] of [
      ['secret key with the fingerprint', {}, undefined],
      ['secret keys with the fingerprints', changing, changing],
    ] as const) {
      const path = join(folder, `${Object.keys(keys).length} keys.db`);
      const made = await run(['backup', path], { env: { ...env, ...keys } });
      const [, needed] = new RegExp(`needs the ${name} ([\\w-]{12}(?: and [\\w-]{12})?)`).exec(made.stdout)!;
      const target = await newTarget();
      const lacking = { ...target.env, SECRET_KEY: randomBytes(32).toString('base64url') };
      const restored = await run(['restore', path], { env: lacking });
      assert.match(restored.stdout, new RegExp(`needs the ${name} ${needed}`));
      assert.match((await run(['doctor'], { env: lacking })).stdout, new RegExp(needed!));
      const withKeys = await run(['doctor'], { env: { ...target.env, SECRET_KEY: key, ...own } });
      assert.doesNotMatch(withKeys.stdout, /fingerprint/);
    }
  });

  it('is restored without the stale log of a lost database, and refused without its own', async () => {
    const [dataDir, own] = [newFolder(), databaseFile(deskbell.config.dataDir)];
    const [raw, path] = [join(folder, 'raw.db'), join(folder, 'before.db')];
    const rowsIn = (path: string) => {
      const connection = new DatabaseSync(path);
      connection.exec('pragma journal_mode = delete');
      assert.deepEqual({ ...connection.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
      const row = { ...connection.prepare('select count(*) as count from notifications').get() };
      connection.close();
      return row.count;
    };
    assert.equal((await backUp(path)).code, 0);
    await raise(deskbell, await deskbell.signIn());
    // The machine died: the log is left over, the database is lost.
    copyFileSync(`${own}-wal`, `${databaseFile(dataDir)}-wal`);
    const restored = await run(['restore', path], { env: { DATA_DIR: dataDir } });
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal(rowsIn(databaseFile(dataDir)), rowsIn(path));

    // As another program copies it.
    copyFileSync(own, raw);
    copyFileSync(`${own}-wal`, `${raw}-wal`);
    const env = { DATA_DIR: newFolder() };
    const problem = /without its last writes: they are in .*raw\.db-wal/;
    assert.match((await run(['restore', raw], { env })).stderr, problem);
    const count = rowsIn(raw);
    assert.equal((await run(['restore', raw], { env })).code, 0);
    assert.equal(rowsIn(databaseFile(env.DATA_DIR)), count);
  });
});
