import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { newSecretKey } from '../../src/secrets.ts';
import { folderOnSmallDisk } from '../release/faults/limitedDisk.ts';
import { runAsProcess, run as runCommand } from '../support/command.ts';
import { createDemoDatabase, createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { newFolder, run as start } from '../support/process.ts';
import { MAIN } from '../support/program.ts';
import { AURORA, call, NOTIFICATIONS, startDeskbell } from '../support/server.ts';

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
      const question = { question: 'x'.repeat(20_000) };
      const body = { notification_type: 'user_question_request', conversation_id: 1, context: question };
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

describe('settings that have no effect', () => {
  it('are named by the doctor, with the file and the line, but never what is in it', async () => {
    const folder = newFolder();
    writeFileSync(
      join(folder, '.env'),
      'PORT_FILE=/tmp/port\n# fine\nhunter2 is no setting\nDATA_DIR=data\n',
    );
    const program = start({}, [process.execPath, MAIN, 'doctor'], folder);
    await program.ended;
    const text = program.stdout() + program.stderr();
    assert.ok(text.includes(`✔ Settings: ${join(folder, '.env')}.`), text);
    assert.match(text, /! Line 3 of \S+\.env has no effect/);
    assert.match(text, /! PORT_FILE is not a setting of Deskbell and has no effect\.\n +Did you mean PORT\?/);
    assert.doesNotMatch(text, /hunter2/);
  });

  it('a missing setting of the channel is called missing', async () => {
    const { stdout } = await runCommand(['doctor'], { env: { DATA_DIR: newFolder(), CHANNEL: 'webhook' } });
    assert.match(stdout, /✖ WEBHOOK_URL must be set with CHANNEL=webhook: it must be an address/);
  });
});

describe('the file of a secret', () => {
  it('must be a regular file: a pipe would make every command wait', async () => {
    const pipe = join(newFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const { stdout } = await runAsProcess(['doctor'], {
      env: { DATA_DIR: newFolder(), SECRET_KEY_FILE: pipe },
    });
    assert.match(stdout, /✖ SECRET_KEY_FILE cannot be used: the file \S+ is not a regular file\./);
  });

  it('is reported if everybody can read it', async () => {
    const file = join(newFolder(), 'key');
    writeFileSync(file, newSecretKey(), { mode: 0o644 });
    const env = { DATA_DIR: newFolder(), SECRET_KEY_FILE: file };
    assert.match(
      (await runCommand(['doctor'], { env })).stdout,
      /! All users .* the file of SECRET_KEY_FILE\./,
    );
  });
});

it('a backup before the first start of a server says that there is no key yet (sqlite)', async () => {
  const env = { DATA_DIR: newFolder() };
  assert.equal((await runCommand(['db', 'migrate'], { env })).code, 0);
  const { stdout } = await runCommand(['backup', join(newFolder(), 'backup.db')], { env });
  assert.match(stdout, /nothing is encrypted yet/);
  assert.doesNotMatch(stdout, /is not the key of this database/);
});

describe('commands', () => {
  let database: TestDatabase;
  let key: string;
  const run = (args: string[], settings: Record<string, string> = {}) =>
    runCommand(args, { env: { ...database.env, ...settings } });
  const recorded = async () =>
    (await run(['audit', 'list', '--json'])).json.map((event: { what: string }) => event.what);

  before(async () => {
    database = await createDemoDatabase('sqlite', 'weak');
    key = readFileSync(join(database.env.DATA_DIR!, 'secret.key'), 'utf8').trim();
  });
  after(() => database?.remove());

  it('record no import and no export that was refused, and those that were not', async () => {
    const folder = newFolder();
    const [bad, good, taken] = ['bad.csv', 'good.csv', 'taken.jsonl'].map((name) => join(folder, name));
    writeFileSync(bad!, 'some,columns\n1,2\n');
    writeFileSync(good!, 'reference,name,phone\nr1,Ana,+34600000001\n');
    writeFileSync(taken!, '');
    assert.equal((await run(['conversation', 'import', bad!, '--merchant', '1'])).code, 1);
    for (const args of [
      ['conversation', 'export', '1', taken!, '--merchant', '1'],
      ['merchant', 'export', '1', taken!],
      ['user', 'export', AURORA.email, taken!],
    ])
      assert.match((await run(args)).stderr, /exists already\. Nothing was written\./);
    assert.deepEqual(
      (await recorded()).filter((what: string) => /import|export/.test(what)),
      [],
    );

    assert.equal((await run(['conversation', 'import', good!, '--merchant', '1'])).code, 0);
    assert.equal((await run(['merchant', 'export', '1', join(folder, 'new.jsonl')])).code, 0);
    assert.deepEqual((await recorded()).filter((what: string) => /import|export/.test(what)).sort(), [
      'conversations.imported',
      'merchant.exported',
    ]);
  });

  it('"keys status" shows the fingerprints, and asks whether two keys are swapped', async () => {
    const other = newSecretKey();
    const { stdout } = await run(['keys', 'status'], { SECRET_KEY: key, SECRET_KEY_PREVIOUS: other });
    assert.match(stdout, /SECRET_KEY_PREVIOUS nothing\. Are the two swapped\?/);
    const prints = [...stdout.matchAll(/^Fingerprint of (\S+): ([\w-]{12})\.$/gm)];
    assert.deepEqual(
      prints.map(([, name]) => name),
      ['SECRET_KEY', 'SECRET_KEY_PREVIOUS'],
    );
    assert.notEqual(prints[0]![2], prints[1]![2]);
    const alone = await run(['keys', 'status', '--json'], { SECRET_KEY: key });
    assert.deepEqual([alone.json.fingerprint, alone.json.previous_fingerprint], [prints[0]![2], null]);
  });

  it('that delete name --yes if there is no terminal', async () => {
    const { code, stderr } = await run(['conversation', 'delete', '1', '--merchant', '1']);
    assert.equal(code, 1);
    assert.match(stderr, /Nothing was changed\. Without a terminal, use --yes\./);
  });

  it('name a folder in the place of a file, without a code', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'taken'));
    for (const args of [
      ['backup', join(folder, 'taken')],
      ['restore', folder],
    ]) {
      const { code, stderr } = await run(args);
      assert.equal(code, 1);
      assert.doesNotMatch(stderr, /\bE[A-Z]{4,}\b|^\s+at /m);
    }
    assert.ok(existsSync(join(folder, 'taken')));
  });
});

it('"db migrate" says why it waits (postgres)', { skip: !engines.includes('postgres') }, async () => {
  const database = await createTestDatabase('postgres');
  const holder = new pg.Client(database.env.DATABASE_DIRECT_URL ?? database.env.DATABASE_URL!);
  await holder.connect();
  try {
    await holder.query(`select pg_advisory_lock(hashtextextended('migrate', 0))`);
    const program = start(database.env, [process.execPath, MAIN, 'db', 'migrate']);
    for (
      const giveUpAt = Date.now() + 50_000;
      !/busy with the database/.test(program.stderr());
      await sleep(20)
    )
      assert.ok(Date.now() < giveUpAt, program.stdout() + program.stderr());
    await holder.query('select pg_advisory_unlock_all()');
    assert.equal((await program.ended).code, 0);
  } finally {
    await holder.end();
    await database.remove();
  }
});
