import assert from 'node:assert/strict';
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
import pg from 'pg';
import type { Engine } from '../../src/database/database.ts';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { run, runAsProcess, settingsOf } from '../support/command.ts';
import { runAndKill, tablesOf, untilUnused } from '../support/copying.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';
import {
  type Deskbell,
  onEachEngine,
  QUESTION,
  raise,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

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

  const newTarget = async (of: Engine) => {
    const target = await createTestDatabase(of);
    target.env.SECRET_KEY = key;
    targets.push(target);
    return target;
  };
  const backUp = (to: string) => runAsProcess(['backup', to, '--json'], { env: settingsOf(deskbell) });
  const restore = async (from: string, target: TestDatabase) => {
    await untilUnused(target);
    return run(['restore', from, '--json'], { env: target.env });
  };
  /** For tests that use a backup, also if they run alone. */
  const needFile = async () => {
    if (existsSync(file)) return;
    await raise(deskbell, await deskbell.signIn());
    assert.equal((await backUp(file)).code, 0);
  };
  const idsIn = async ({ database }: Deskbell) =>
    (await database.all<{ id: number }>('select id from notifications order by id')).map(({ id }) => id);

  it('has every write that was acknowledged before it began, while writes go on, and restores into both engines', async () => {
    const token = await deskbell.signIn();
    for (let n = 0; n < 30; n += 1) await raise(deskbell, token);
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
    assert.match(made.json.keys.join(), /^[\w-]{12}$/);
    for (const of of engines) {
      const target = await newTarget(of);
      const restored = await restore(file, target);
      assert.equal(restored.code, 0, restored.stderr);
      assert.deepEqual(restored.json.key.fits, true);
      const copy = await startDeskbell(of, { WORKER: 'false' }, target);
      try {
        const ids = await idsIn(copy);
        assert.deepEqual(ids.slice(0, before.length), before);
        // All of a notification, or nothing: its inbox counts its bytes.
        const tables = await tablesOf(target);
        assert.equal(ids.length, made.json.tables.notifications.rows);
        assert.deepEqual(tables.notifications, made.json.tables.notifications);
        assert.deepEqual(tables.inboxes, made.json.tables.inboxes);
        // Nobody may think that this is the one that was lost.
        const fresh = await copy.signIn();
        const address = await raise(copy, fresh);
        assert.ok(Number(address.split('/').at(-1)) > ids.at(-1)! + 1000);
        assert.equal((await copy.call('GET', '/api/v1/auth/me', { token })).status, 401);
      } finally {
        await copy.close();
      }
    }
  });

  it('does not overwrite a file, and leaves none behind when it is killed', async () => {
    await needFile();
    assert.match((await backUp(file)).stderr, /exists already/);
    const other = join(folder, 'killed.db');
    const half = databaseFile(`${other}.partial`);
    const target = await newTarget(engine);
    // Before its pages are copied, when they are read again, when they are checked, and before it gets its name.
    const ofFile = [
      ...[
        { sql: 'schema_migrations', nth: 2 },
        { sql: '"merchants"', nth: 1 },
      ],
      ...[{ sql: 'integrity_check', nth: 1 }, 'rename' as const],
    ];
    const ofRows = [1, 40, 120, 'rename' as const];
    for (const at of engine === 'sqlite' ? ofFile : ofRows) {
      const name = JSON.stringify(at);
      assert.equal(await runAndKill(['backup', other], settingsOf(deskbell), at), true, name);
      assert.equal(existsSync(other), false, name);
      if (at === 'rename' || engine === 'sqlite') continue;
      const { code, json } = await restore(half, target);
      assert.equal(code, 1, name);
      assert.match(json.error, /There is no file|damaged or not a backup|without its last writes/, name);
    }
    const { code, stderr } = await backUp(other);
    assert.equal(code, 0, stderr);
    assert.equal(existsSync(`${other}.partial`), false);
    assert.equal((await restore(other, target)).code, 0, 'nothing was left behind');
  });

  it('writes only into a folder of its own', async () => {
    const [linked, taken] = [join(folder, 'linked.db'), join(folder, 'taken.db')];
    const elsewhere = newFolder();
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, 'deskbell.db'), 'another database');
    symlinkSync(elsewhere, `${linked}.partial`);
    mkdirSync(`${taken}.partial`);
    writeFileSync(join(`${taken}.partial`, 'letter.txt'), 'of somebody');
    for (const file of [linked, taken]) {
      const { code, stderr } = await run(['backup', file], { env: settingsOf(deskbell) });
      assert.equal(code, 1);
      assert.match(stderr, /\.partial is not from an interrupted backup\./);
    }
    assert.equal(readFileSync(join(elsewhere, 'deskbell.db'), 'utf8'), 'another database');
    assert.equal(readFileSync(join(`${taken}.partial`, 'letter.txt'), 'utf8'), 'of somebody');
  });

  it('is refused if it is damaged, cut off, no backup, or from a newer version', async () => {
    await needFile();
    const target = await newTarget(engine);
    const spoil = (name: string, change: (path: string) => void) => {
      const path = join(folder, name);
      copyFileSync(file, path);
      change(path);
      return path;
    };
    const flipped = (path: string) => {
      // In a text: SQLite's own check does not see it. Everywhere: a page may keep the remains of moved rows.
      const bytes = readFileSync(path);
      const descriptor = openSync(path, 'r+');
      let at = bytes.indexOf('decaf beans');
      assert.ok(at > 0);
      for (; at >= 0; at = bytes.indexOf('decaf beans', at + 1)) writeSync(descriptor, 'X', at);
      closeSync(descriptor);
    };
    const newer = (path: string) => {
      const connection = new DatabaseSync(path);
      connection.exec(
        `insert into schema_migrations (version, name, checksum, applied_at) values (9999, 'later', 'x', '2026-01-15T09:30:00.000Z')`,
      );
      connection.close();
    };
    const changed = (sql: string) => (path: string) => {
      const connection = new DatabaseSync(path);
      connection.exec(sql);
      connection.close();
    };
    const cases: [string, RegExp][] = [
      [
        spoil('null.db', changed(`update backup_info set info = 'null'`)),
        /about itself is not from Deskbell/,
      ],
      [
        spoil(
          'escape.db',
          changed(`update backup_info set info = json_set(info, '$.made_at', char(27) || '[2J')`),
        ),
        /about itself is not from Deskbell/,
      ],
      [spoil('flipped.db', flipped), /damaged or not a backup: .*differs from its source in /],
      [
        spoil('short.db', (path) => truncateSync(path, statSync(path).size / 2)),
        /damaged or not a backup: it has/,
      ],
      [spoil('empty.db', (path) => truncateSync(path, 0)), /not an SQLite file/],
      [spoil('newer.db', newer), /newer than this Deskbell/],
      [join(folder, 'none.db'), /There is no file/],
    ];
    for (const [path, problem] of cases) {
      const { code, json } = await restore(path, target);
      assert.equal(code, 1);
      assert.match(json.error, problem);
      assert.doesNotMatch(json.error, /\n/);
    }
    assert.equal((await restore(file, target)).code, 0, 'nothing was left behind');
  });

  it('is not restored into a database that is in use or not empty', async () => {
    await needFile();
    const inUse = await run(['restore', file, '--json'], { env: settingsOf(deskbell) });
    assert.match(inUse.stderr, /in use/);
    const target = await newTarget(engine);
    await run(['db', 'migrate'], { env: target.env });
    await run(['merchant', 'add', 'A shop'], { env: target.env });
    assert.match((await restore(file, target)).stderr, /is not empty/);
  });

  if (engine === 'postgres') {
    it('is restored although a command has ended only a moment before', async () => {
      await needFile();
      const target = await newTarget(engine);
      const url = target.env.DATABASE_DIRECT_URL ?? target.env.DATABASE_URL!;
      const command = new pg.Client({ connectionString: url, application_name: 'deskbell' });
      await command.connect();
      const restoring = run(['restore', file, '--json'], { env: target.env });
      const restoreIsHere = `select 1 from pg_stat_activity
        where datname = current_database() and application_name = 'deskbell copy' and state = 'idle'`;
      for (let isHere = false; !isHere; ) isHere = (await command.query(restoreIsHere)).rows.length > 0;
      await new Promise((resolve) => setTimeout(resolve, 100));
      await command.end();
      const { code, stderr } = await restoring;
      assert.equal(code, 0, stderr);
    });
  }

  it('is restored again after the restore was killed, and nothing uses the half of it', async () => {
    await needFile();
    const target = await newTarget(engine);
    for (const at of engine === 'sqlite' ? [1, 3] : [2, 60, 120]) {
      await untilUnused(target);
      assert.equal(await runAndKill(['restore', file], target.env, at), true);
      const { stderr } = await run(['merchant', 'list'], { env: target.env });
      assert.match(stderr, /interrupted/);
    }
    const { code, stderr } = await restore(file, target);
    assert.equal(code, 0, stderr);
    assert.match((await run(['merchant', 'list'], { env: target.env })).stdout, /Aurora/);
  });

  it('sends nothing after a restore until the release, and says so', async () => {
    const token = await deskbell.signIn();
    const address = await raise(deskbell, token, {
      ...QUESTION,
      context: { ...QUESTION.context, lead_phone: '+34611550101' },
    });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes.', undo_seconds: 0 } });
    const own = join(folder, 'waiting.db');
    const made = await backUp(own);
    assert.equal(made.code, 0, made.stderr);
    const target = await newTarget(engine);
    const restored = await restore(own, target);
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal(restored.json.waiting.messages, 1);
    const receiver = await startReceiver();
    const settings = {
      CHANNEL: 'webhook',
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_PRIVATE: 'true',
    };
    const copy = await startDeskbell(engine, settings, target);
    try {
      await copy.allSent();
      assert.equal(receiver.received.length, 0);
      await until(() => copy.logged.some((line) => /nothing is sent: sending is held/.test(line)));
      assert.match((await copy.call('GET', '/metrics')).text, /^deskbell_sending_held 1$/m);
      const doctor = await run(['doctor', '--json'], { env: target.env });
      assert.ok(
        doctor.json.findings.some(({ message }: { message: string }) =>
          /Sending is held.* 1 message/.test(message),
        ),
      );
      const released = await run(['delivery', 'release', '--json'], { env: target.env });
      assert.equal(released.json.released, true);
      await until(() => receiver.received.length === 1);
      assert.match((await copy.call('GET', '/metrics')).text, /^deskbell_sending_held 0$/m);
    } finally {
      await copy.close();
      await receiver.close();
    }
  });
});

async function until(isSo: () => boolean): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; !isSo(); await new Promise((resolve) => setTimeout(resolve, 20)))
    assert.ok(Date.now() < giveUpAt, 'it takes too long');
}
