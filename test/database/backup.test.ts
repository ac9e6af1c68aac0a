import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
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
    const [existing, linked, taken] = [join(folder, 'a.db'), join(folder, 'b.db'), join(folder, 'c.db')];
    const elsewhere = newFolder();
    const files = [existing, join(elsewhere, 'deskbell.db'), join(`${taken}.partial`, 'letter.txt')];
    mkdirSync(`${taken}.partial`);
    for (const path of files) writeFileSync(path, 'of somebody');
    symlinkSync(elsewhere, `${linked}.partial`);
    const notHalf = /\.partial is not from an interrupted backup\./;
    for (const [to, problem] of [
      [existing, /exists already/],
      [linked, notHalf],
      [taken, notHalf],
    ] as const) {
      const { code, stderr } = await backUp(to);
      assert.equal(code, 1);
      assert.match(stderr, problem);
    }
    for (const path of files) assert.equal(readFileSync(path, 'utf8'), 'of somebody');
  });

  it('is refused if it is damaged, cut off, no backup, or from a newer version', async () => {
    if (!existsSync(file)) await backUp(file);
    const target = await newTarget();
    const changedBy = (sql: string) => (path: string) => {
      const connection = new DatabaseSync(path);
      connection.exec(sql);
      connection.close();
    };
    // In a text: SQLite's own check does not see it. Everywhere: a page may keep the remains of moved rows.
    const flip = (path: string) =>
      writeFileSync(path, readFileSync(path, 'latin1').replaceAll('decaf beans', 'Xecaf beans'), 'latin1');
    const notOurs = /about itself is not from Deskbell/;
    const newer = `insert into schema_migrations (version, name, checksum, applied_at)
      values (9999, 'later', 'x', '2026-01-15T09:30:00.000Z')`;
    const spoiled: [spoil: (path: string) => void, problem: RegExp][] = [
      [flip, /damaged or not a backup: .*differs from its source in /],
      [(path) => truncateSync(path, statSync(path).size / 2), /damaged or not a backup: it has/],
      [changedBy(`update backup_info set info = 'null'`), notOurs],
      [changedBy(`update backup_info set info = json_set(info, '$.made_at', char(27) || '[2J')`), notOurs],
      [(path) => truncateSync(path, 0), /not an SQLite file/],
      [changedBy(newer), /newer than this Deskbell/],
    ];
    for (const [n, [spoil, problem]] of spoiled.slice(0, engine === 'sqlite' ? 6 : 2).entries()) {
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
    it('is not ended by the time-outs of an address, nor by a table that is not ours', async () => {
      const { DATABASE_URL: url = '', ...env } = settingsOf(deskbell);
      const limits = `options=${encodeURIComponent('-c statement_timeout=1')}`;
      const limited = `${url}${url.includes('?') ? '&' : '?'}${limits}`;
      await deskbell.database.script('create table other_program (id bigint)');
      const own = { ...env, DATABASE_URL: limited, DATABASE_DIRECT_URL: '' };
      const made = await run(['backup', join(folder, 'limits.db')], { env: own });
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /does not know it: other_program\./);
    });
    return;
  }

  it('names the secret keys that it needs, two of them during a change of the key', async () => {
    const newKey = () => ({ SECRET_KEY: randomBytes(32).toString('base64url') });
    const path = join(folder, 'keys.db');
    const changing = { ...newKey(), SECRET_KEY_PREVIOUS: key };
    const made = await run(['backup', path], { env: { ...settingsOf(deskbell), ...changing } });
    const [needed] = /needs the secret keys with the fingerprints [\w-]{12} and [\w-]{12}/.exec(made.stdout)!;
    const { env } = await newTarget();
    const lacking = { ...env, ...newKey() };
    assert.ok((await run(['restore', path], { env: lacking })).stdout.includes(needed));
    assert.match((await run(['doctor'], { env: lacking })).stdout, /fingerprint/);
    assert.doesNotMatch((await run(['doctor'], { env: { ...env, ...changing } })).stdout, /fingerprint/);
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
