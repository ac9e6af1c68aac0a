import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Engine } from '../../../src/database/database.ts';
import { databaseFile } from '../../../src/database/sqliteFolder.ts';
import { run } from '../../support/command.ts';
import {
  createUsedDatabase,
  fillEveryTable,
  type KillAt,
  runAndKill,
  tablesOf,
  untilUnused,
} from '../../support/copying.ts';
import {
  createDemoDatabase,
  createTestDatabase,
  engines,
  type TestDatabase,
} from '../../support/databases.ts';
import { newFolder } from '../../support/process.ts';
import { onEachEngine } from '../../support/server.ts';

/** Backups, restores and moves that are killed on the way. */

const databases: TestDatabase[] = [];
after(() => Promise.all(databases.map((database) => database.remove())));
const kept = (database: TestDatabase): TestDatabase => {
  databases.push(database);
  return database;
};
const sqlOf = (sql: string, nth: number) => ({ sql, nth });
const assertDone = ({ code, stderr }: Awaited<ReturnType<typeof run>>) => assert.equal(code, 0, stderr);

onEachEngine('a backup that is killed', (engine) => {
  let source: TestDatabase;
  const folder = newFolder();
  before(async () => {
    source = kept(await createUsedDatabase(engine));
  });
  const restore = async (from: string, target: TestDatabase) => {
    await untilUnused(target);
    return run(['restore', from, '--json'], { env: target.env });
  };

  it('leaves no file behind, and can be made again', async () => {
    const file = join(folder, 'killed.db');
    const half = databaseFile(`${file}.partial`);
    const target = kept(await createTestDatabase(engine));
    const places: KillAt[] =
      engine === 'sqlite'
        ? // Before its pages are copied, when they are read again, and when they are checked.
          [sqlOf('schema_migrations', 2), sqlOf('"merchants"', 1), sqlOf('integrity_check', 1)]
        : // At the first write, before the first row (then no log shows that it is not complete), and later.
          [1, sqlOf('delete from "', 1), sqlOf('insert into "users"', 1)];
    for (const at of [...places, 'rename' as const]) {
      const name = JSON.stringify(at);
      assert.equal(await runAndKill(['backup', file], source.env, at), true, name);
      assert.equal(existsSync(file), false, name);
      if (at === 'rename' || engine === 'sqlite') continue;
      const { code, json } = await restore(half, target);
      assert.equal(code, 1, name);
      assert.match(json.error, /There is no file|damaged or not a backup|without its last writes/, name);
    }
    assertDone(await run(['backup', file], { env: source.env }));
    assert.equal(existsSync(`${file}.partial`), false);
    assertDone(await restore(file, target));
  });

  it('is restored again after the restore was killed, and nothing uses the half of it', async () => {
    const file = join(folder, 'whole.db');
    assertDone(await run(['backup', file], { env: source.env }));
    const target = kept(await createTestDatabase(engine));
    for (const at of engine === 'sqlite' ? [1, 3] : [2, 60, 120]) {
      await untilUnused(target);
      assert.equal(await runAndKill(['restore', file], target.env, at), true);
      assert.match((await run(['merchant', 'list'], { env: target.env })).stderr, /interrupted/);
    }
    assertDone(await restore(file, target));
    assert.match((await run(['merchant', 'list'], { env: target.env })).stdout, /Aurora/);
  });
});

describe('a move that is killed', { skip: !engines.includes('postgres') }, () => {
  const withoutHold = ({ sending_hold, ...others }: Awaited<ReturnType<typeof tablesOf>>) => others;
  const argumentsFor = ({ env }: TestDatabase) => [
    'move',
    '--json',
    '--to',
    env.DATABASE_URL ?? env.DATA_DIR!,
  ];
  let source: TestDatabase;
  before(async () => {
    source = kept(await createDemoDatabase('sqlite', 'weak'));
    await fillEveryTable(source);
    source.env.SECRET_KEY = readFileSync(join(source.env.DATA_DIR!, 'secret.key'), 'utf8').trim();
  });
  const newTarget = async (engine: Engine) => {
    const target = kept(await createTestDatabase(engine));
    target.env.SECRET_KEY = source.env.SECRET_KEY!;
    return target;
  };

  it('goes on, and the incomplete target is refused until then', async () => {
    const [target, folder] = [await newTarget('postgres'), await newTarget('sqlite')];
    for (const [from, to] of [
      [source, target],
      [target, folder],
    ] as const) {
      const args = argumentsFor(to);
      const expected = await tablesOf(from);
      for (const at of [2, 40, 90]) {
        assert.equal(await runAndKill(args, from.env, at), true, `killed at ${at}`);
        const refused = await run(['merchant', 'list'], { env: to.env });
        assert.match(refused.stderr, /not complete: a restore or a move into it was interrupted/);
        for (const database of [from, to]) await untilUnused(database);
      }
      const done = await run(args, { env: from.env });
      assertDone(done);
      assert.deepEqual(done.json.tables, expected);
      assert.deepEqual(withoutHold(await tablesOf(from)), withoutHold(expected), 'the source is not changed');
      for (const database of [from, to]) await untilUnused(database);
    }
    // New rows get ids that were never given before.
    assert.equal((await run(['merchant', 'add', 'New shop', '--json'], { env: folder.env })).json.id, 3);
  });

  it('begins again if the source was used after an interruption', async () => {
    const target = await newTarget('postgres');
    const args = argumentsFor(target);
    // Merchants are copied by then.
    assert.equal(await runAndKill(args, source.env, 90), true);
    await run(['merchant', 'set', '1', '--name', 'Another name'], { env: source.env });
    await untilUnused(target);
    const refused = await run(args, { env: source.env });
    assert.match(refused.stderr, /differs from its source in .*merchants.* it starts again/);
    await untilUnused(target);
    assertDone(await run(args, { env: source.env }));
  });
});
