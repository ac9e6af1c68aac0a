import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import pg from 'pg';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { run, settingsOf } from '../support/command.ts';
import { createTestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { onEachEngine, raise, startDeskbell, useDeskbell } from '../support/server.ts';

/** What a backup depends on: its key, the address of its database, and the files beside it. */

onEachEngine('the secret key of a backup', (engine) => {
  const deskbell = useDeskbell(engine);
  it('is named by its fingerprint', async () => {
    const file = join(newFolder(), 'key.db');
    const made = await run(['backup', file], { env: settingsOf(deskbell) });
    const [, fingerprint] = /needs the secret key with the fingerprint ([\w-]{12})\./.exec(made.stdout)!;
    const target = await createTestDatabase(engine);
    try {
      const restored = await run(['restore', file], { env: target.env });
      assert.match(restored.stdout, new RegExp(`needs the secret key with the fingerprint ${fingerprint}`));
      const doctor = await run(['doctor'], { env: target.env });
      assert.match(doctor.stdout, new RegExp(`the fingerprint ${fingerprint}`));
    } finally {
      await target.remove();
    }
  });
});

onEachEngine('a backup from a change of the secret key', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  it('needs both keys, and says which', async () => {
    const file = join(newFolder(), 'changing.db');
    const env = settingsOf(deskbell);
    const previous: string =
      env.SECRET_KEY ?? readFileSync(join(deskbell.config.dataDir, 'secret.key'), 'utf8').trim();
    const changing = { SECRET_KEY: randomBytes(32).toString('base64url'), SECRET_KEY_PREVIOUS: previous };
    const made = await run(['backup', file], { env: { ...env, ...changing } });
    assert.equal(made.code, 0, made.stderr);
    const [, both] = /needs the secret keys with the fingerprints ([\w-]{12} and [\w-]{12}) /.exec(
      made.stdout,
    )!;
    const target = await createTestDatabase(engine);
    try {
      const lacking = { ...target.env, SECRET_KEY: changing.SECRET_KEY };
      const restored = await run(['restore', file], { env: lacking });
      assert.match(restored.stdout, new RegExp(`needs the secret keys with the fingerprints ${both} `));
      assert.match((await run(['doctor'], { env: lacking })).stdout, new RegExp(both!));
      assert.doesNotMatch(
        (await run(['doctor'], { env: { ...target.env, ...changing } })).stdout,
        /fingerprint/,
      );
    } finally {
      await target.remove();
    }
  });
});

onEachEngine('an address with limits and a name of its own', (engine) => {
  if (engine !== 'postgres') return;
  const deskbell = useDeskbell('postgres', { WORKER: 'false' });
  const withOptions = (url: string, options: string) => `${url}${url.includes('?') ? '&' : '?'}${options}`;

  it('does not end a backup or a restore, and does not hide who uses the database', async () => {
    const file = join(newFolder(), 'limits.db');
    const target = await createTestDatabase('postgres');
    const limited = (env: Record<string, string>) => ({
      ...env,
      DATABASE_URL: withOptions(env.DATABASE_URL!, `options=${encodeURIComponent('-c statement_timeout=1')}`),
      DATABASE_DIRECT_URL: '',
    });
    const named = {
      ...target.env,
      DATABASE_URL: withOptions(target.env.DATABASE_URL!, 'application_name=mine'),
    };
    try {
      // Another program's table does not matter either.
      await deskbell.database.script('create table other_program (id bigint)');
      const made = await run(['backup', file], { env: limited(settingsOf(deskbell)) });
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /does not know it: other_program\./);
      const user = await startDeskbell('postgres', { WORKER: 'false' }, { ...target, env: named });
      assert.match((await run(['restore', file], { env: limited(target.env) })).stderr, /in use/);
      await user.close();
    } finally {
      await target.remove();
    }
  });
});

onEachEngine('a stale log beside the database', (engine) => {
  if (engine !== 'sqlite') return;
  it('is not replayed into a restored database', async () => {
    const old = await startDeskbell('sqlite', { WORKER: 'false' });
    const [folder, dataDir] = [newFolder(), newFolder()];
    const file = join(folder, 'backup.db');
    try {
      const token = await old.signIn();
      assert.equal((await run(['backup', file], { env: settingsOf(old) })).code, 0);
      for (let n = 0; n < 20; n += 1) await raise(old, token);
      // The machine died: the log is left over, the database is lost.
      mkdirSync(dataDir, { recursive: true });
      copyFileSync(`${databaseFile(old.config.dataDir)}-wal`, `${databaseFile(dataDir)}-wal`);
      const restored = await run(['restore', file], { env: { DATA_DIR: dataDir } });
      assert.equal(restored.code, 0, restored.stderr);
      const connection = new DatabaseSync(databaseFile(dataDir));
      const expected = new DatabaseSync(file, { readOnly: true });
      const rows = (database: DatabaseSync) =>
        database.prepare('select count(*) as count from notifications').get();
      assert.deepEqual(rows(connection), rows(expected));
      assert.deepEqual({ ...connection.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
      connection.close();
      expected.close();
    } finally {
      await old.close();
    }
  });
});

onEachEngine('a copy that another program made', (engine) => {
  if (engine !== 'sqlite') return;
  const deskbell = useDeskbell('sqlite', { WORKER: 'false' });
  it('is refused while its last writes are in another file', async () => {
    await raise(deskbell, await deskbell.signIn());
    const [folder, dataDir] = [newFolder(), newFolder()];
    const file = join(folder, 'raw.db');
    copyFileSync(databaseFile(deskbell.config.dataDir), file);
    copyFileSync(`${databaseFile(deskbell.config.dataDir)}-wal`, `${file}-wal`);
    const env = { DATA_DIR: dataDir };
    assert.match(
      (await run(['restore', file], { env })).stderr,
      /without its last writes: they are in .*raw\.db-wal/,
    );
    const joined = new DatabaseSync(file);
    joined.exec('pragma journal_mode = delete');
    const { count } = joined.prepare('select count(*) as count from notifications').get() as {
      count: number;
    };
    joined.close();
    assert.equal((await run(['restore', file], { env })).code, 0);
    const restored = new DatabaseSync(databaseFile(dataDir));
    assert.deepEqual({ ...restored.prepare('select count(*) as count from notifications').get() }, { count });
    restored.close();
  });
});

onEachEngine('the ids after a restore', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  it('go on after those that were used, also where an upgrade has set the counter', {
    skip: engine === 'sqlite' && 'its counters are rows',
  }, async () => {
    // As migration 32 does after three passkeys, of which none is left.
    await deskbell.database.all(`select setval('passkeys_ids', 4, false)`);
    const file = join(newFolder(), 'ids.db');
    await run(['backup', file], { env: settingsOf(deskbell) });
    const target = await createTestDatabase(engine);
    try {
      await run(['restore', file], { env: target.env });
      const client = new pg.Client(target.env.DATABASE_URL);
      await client.connect();
      const { rows } = await client.query(`select nextval('passkeys_ids')::integer as id`);
      await client.end();
      // A restore leaves a million ids free: they may have been used after the backup.
      assert.equal(rows[0].id, 1_000_004);
    } finally {
      await target.remove();
    }
  });
});
