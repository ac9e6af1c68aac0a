import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { newSecretKey } from '../../src/secrets.ts';
import { folderOnSmallDisk } from '../release/faults/limitedDisk.ts';
import { assertFailure, runAsProcess, run as runCommand } from '../support/command.ts';
import { createDemoDatabase, createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { newFolder, run as start } from '../support/process.ts';
import { MAIN } from '../support/program.ts';
import { AURORA, call, NOTIFICATIONS, QUESTION, startDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

/** What an operator who follows the docs reads when something is wrong. */

describe('a full disk (sqlite)', () => {
  const disk = folderOnSmallDisk();
  after(() => disk?.remove());

  it('is named, and the server is not ready until there is space again', {
    skip: disk || process.env.CI ? false : 'only root can mount a small disk',
  }, async () => {
    const { folder, fill, free } = disk!;
    const demo = await createDemoDatabase('sqlite', 'weak');
    cpSync(demo.env.DATA_DIR!, folder, { recursive: true });
    await demo.remove();
    const env = { DATA_DIR: folder };
    const deskbell = await startDeskbell('sqlite', { PORT: '0' }, { env, async remove() {} });
    try {
      const isUp = async () =>
        /^deskbell_database_up (\d)$/m.exec((await call(deskbell.url, 'GET', '/metrics')).text)?.[1];
      const ready = async () => (await call(deskbell.url, 'GET', '/readyz')).status;
      const token = await deskbell.signIn();
      assert.deepEqual([await ready(), await isUp()], [200, '1']);
      fill(process.pid);
      const body = { ...QUESTION, context: { question: 'x'.repeat(20_000) } };
      const ask = () => deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body });
      for (let tries = 0; tries < 100 && (await ask()).status === 200; tries += 1);
      assert.deepEqual([await ready(), await isUp()], [503, '0']);
      assert.match(deskbell.logged.join(''), /the embedded database cannot write: the disk is full/);
      const { code, stdout } = await runCommand(['doctor'], { env });
      assert.equal(code, 1);
      assert.match(stdout, /✖ Nothing can be written in \S+: the disk is full\.\n +Free some space\./);
      const refused = await runCommand(['merchant', 'add', 'A'.repeat(100)], { env });
      assert.match(refused.stderr, /^The (database cannot be used|data folder).*: the disk is full\.$/m);
      free(process.pid);
      assert.deepEqual([await ready(), await isUp()], [200, '1']);
      assert.equal((await ask()).status, 200);
    } finally {
      free(process.pid);
      await deskbell.close();
    }
  });
});

describe('the doctor', () => {
  const doctor = async (env: Record<string, string>) =>
    (await runCommand(['doctor'], { env: { DATA_DIR: newFolder(), ...env } })).stdout;

  it('names settings that have no effect, with the file and the line, but never what is in it', async () => {
    const folder = newFolder();
    const file = join(folder, '.env');
    writeFileSync(file, 'PORT_FILE=/tmp/port\n# fine\nhunter2 is no setting\nDATA_DIR=data\n');
    const program = start({}, [process.execPath, MAIN, 'doctor'], folder);
    await program.ended;
    const text = program.stdout() + program.stderr();
    assert.ok(text.includes(`✔ Settings: ${file}.`), text);
    assert.match(text, /! Line 3 of \S+\.env has no effect/);
    assert.match(text, /! PORT_FILE is not a setting of Deskbell and has no effect\.\n +Did you mean PORT\?/);
    assert.doesNotMatch(text, /hunter2/);
  });

  it('reports the file of a secret that is a pipe, which would make every command wait, or that everybody can read', async () => {
    const folder = newFolder();
    const [pipe, file] = [join(folder, 'pipe'), join(folder, 'key')];
    execFileSync('mkfifo', [pipe]);
    const { stdout } = await runAsProcess(['doctor'], { env: { DATA_DIR: folder, SECRET_KEY_FILE: pipe } });
    assert.match(stdout, /✖ SECRET_KEY_FILE cannot be used: the file \S+ is not a regular file\./);
    writeFileSync(file, newSecretKey(), { mode: 0o644 });
    assert.match(await doctor({ SECRET_KEY_FILE: file }), /! All users .* the file of SECRET_KEY_FILE\./);
  });
});

describe('commands', () => {
  let database: TestDatabase;
  const run = (args: string[]) => runCommand(args, { env: database.env });
  const recorded = async () => {
    const events: { what: string }[] = (await run(['audit', 'list', '--json'])).json;
    return events.map(({ what }) => what).filter((what) => /import|export/.test(what));
  };

  before(async () => {
    database = await createDemoDatabase('sqlite', 'weak');
  });
  after(() => database?.remove());

  it('record no import and no export that was refused, and those that were not', async () => {
    const folder = newFolder();
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const importFile = (file: string) => run(['conversation', 'import', file, '--merchant', '1']);
    assert.equal((await importFile(write('bad.csv', 'some,columns\n1,2\n'))).code, 1);
    const taken = write('taken.jsonl', '');
    for (const args of [
      ['conversation', 'export', '1', taken, '--merchant', '1'],
      ['merchant', 'export', '1', taken],
      ['user', 'export', AURORA.email, taken],
    ])
      assert.match((await run(args)).stderr, /exists already\. Nothing was written\./);
    assert.deepEqual(await recorded(), []);

    const good = write('good.csv', 'reference,name,phone\nr1,Ana,+34600000001\n');
    assert.equal((await importFile(good)).code, 0);
    assert.equal((await run(['merchant', 'export', '1', join(folder, 'new.jsonl')])).code, 0);
    assert.deepEqual((await recorded()).sort(), ['conversations.imported', 'merchant.exported']);
  });

  it('that delete name --yes if there is no terminal', async () => {
    const refused = await run(['conversation', 'delete', '1', '--merchant', '1']);
    assertFailure(refused, 1, /Nothing was changed\. Without a terminal, use --yes\./);
  });
});

it('a backup before the first start of a server says that there is no key yet (sqlite)', async () => {
  const env = { DATA_DIR: newFolder() };
  assert.equal((await runCommand(['db', 'migrate'], { env })).code, 0);
  const { stdout } = await runCommand(['backup', join(newFolder(), 'backup.db')], { env });
  assert.match(stdout, /nothing is encrypted yet/);
  assert.doesNotMatch(stdout, /is not the key of this database/);
});

it('"db migrate" says why it waits (postgres)', { skip: !engines.includes('postgres') }, async () => {
  const database = await createTestDatabase('postgres');
  const holder = new pg.Client(database.env.DATABASE_DIRECT_URL ?? database.env.DATABASE_URL!);
  await holder.connect();
  try {
    await holder.query(`select pg_advisory_lock(hashtextextended('migrate', 0))`);
    const program = start(database.env, [process.execPath, MAIN, 'db', 'migrate']);
    await until('it says so', () => /busy with the database/.test(program.stderr()));
    await holder.query('select pg_advisory_unlock_all()');
    assert.equal((await program.ended).code, 0);
  } finally {
    await holder.end();
    await database.remove();
  }
});
