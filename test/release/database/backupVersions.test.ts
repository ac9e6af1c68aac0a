import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type Run, run, runAsProcess } from '../../support/command.ts';
import { createUsedDatabase, untilUnused } from '../../support/copying.ts';
import { createTestDatabase, engines, type TestDatabase } from '../../support/databases.ts';
import { newFolder } from '../../support/process.ts';
import { call, onEachEngine, startDeskbell } from '../../support/server.ts';
import { createOldDatabase } from '../../support/upgrades/database.ts';
import { createNextVersion, type NextVersion } from '../../support/upgrades/nextVersion.ts';

onEachEngine('a backup of another version', (engine) => {
  const databases: TestDatabase[] = [];
  let next: NextVersion | undefined;
  after(async () => {
    next?.remove();
    for (const database of databases) await database.remove();
  });
  const kept = <T extends TestDatabase>(database: T): T => {
    databases.push(database);
    return database;
  };
  const newFile = () => join(newFolder(), 'backup.db');
  const assertDone = ({ code, stderr }: Run) => assert.equal(code, 0, stderr);

  it('is migrated when it is restored, if it is older: everything of 0.1.0 is there, on both engines', async () => {
    const [source, old] = await createOldDatabase(engine);
    kept(source);
    const file = newFile();
    assertDone(await run(['backup', file], { env: source.env }));
    const [[email, password]] = Object.entries(old.passwords) as [[string, string]];
    const lists = ['/api/v1/notification/', '/api/v1/knowledge/'];
    for (const of of engines) {
      const target = kept(await createTestDatabase(of));
      Object.assign(target.env, { SECRET_KEY: old.secretKey, DEMO: 'false' });
      assertDone(await run(['restore', file], { env: target.env }));
      const deskbell = await startDeskbell(of, { WORKER: 'false' }, target);
      try {
        const { json } = await call(deskbell.url, 'POST', '/api/v1/auth/login', {
          body: { email, password },
        });
        for (const path of lists) {
          const { text } = await deskbell.call('GET', path, { token: json.access_token });
          assert.equal(text, old.shown[email]![path], `${path} on ${of}`);
        }
      } finally {
        await deskbell.close();
      }
    }
  });

  it('has everything that this version knows, if a newer one has added tables, and both can restore it', async () => {
    next = createNextVersion();
    const source = kept(await createUsedDatabase(engine));
    const newer = (args: string[], { env }: TestDatabase) =>
      runAsProcess(args, { env, program: [process.execPath, next!.program] });
    assertDone(await newer(['db', 'migrate'], source));
    const file = newFile();
    const made = await run(['backup', file, '--json'], { env: source.env });
    assertDone(made);
    // A copy of the SQLite file has all of it.
    const unknown = ['deliveries.next_note', 'next_things', 'notifications.next_visits'];
    assert.deepEqual(made.json.left_out, engine === 'sqlite' ? [] : unknown);
    // All tables are needed for a move.
    const other = kept(await createTestDatabase('sqlite'));
    await untilUnused(source);
    const moved = await run(['move', '--to', other.env.DATA_DIR!, '--json'], { env: source.env });
    assert.match(
      moved.json.error,
      /^It has tables of a newer version \(migration 9002_index\)\. Use that version/,
    );

    const target = kept(await createTestDatabase(engine));
    target.env.DEMO = 'false';
    assertDone(await run(['restore', file], { env: target.env }));
    assert.match((await run(['merchant', 'list'], { env: target.env })).stdout, /Aurora/);
    const later = kept(await createTestDatabase(engine));
    later.env.DEMO = 'false';
    assertDone(await newer(['restore', file], later));
    const status = await newer(['db', 'status', '--json'], later);
    assert.deepEqual([status.json.pending, status.json.newer], [0, 0], status.stderr);
    assert.match((await newer(['merchant', 'list'], later)).stdout, /Aurora/);
  });
});
