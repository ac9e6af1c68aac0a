import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { root } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';

/** What version 0.1 stored for its migrations: the checksums of whole files, including comments. */
const OLD_SUMS = [
  '3fdc275f833caec2',
  'ccd43a4d63c98069',
  '5beaaef39de755c9',
  '7726789830885edb',
  '1d155a2c893be12a',
];
const CHANGED = /^Migration 0001_foundation was changed after it was applied\. Restore its file\.$/;

onEachEngine('migrations', (engine) => {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  const now = () => new Date();
  const run = () => migrate(database, now, pathToFileURL(`${folder}/`));
  const change = (file: string, edit: (text: string) => string) => {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    assert.notEqual(edit(text), text);
    writeFileSync(path, edit(text));
  };

  before(async () => {
    testDatabase = await createTestDatabase(engine);
    database = await openDatabase(readConfig(testDatabase.env), 'command');
    await migrate(database, now);
  });
  after(async () => {
    await database?.close();
    await testDatabase?.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    if (folder) rmSync(folder, { recursive: true, force: true });
    folder = mkdtempSync(join(tmpdir(), 'deskbell-migrations-'));
    cpSync(join(root, 'migrations'), folder, { recursive: true });
  });

  for (const sums of ['stored by this version', 'stored by version 0.1'] as const) {
    describe(`with checksums ${sums}`, () => {
      before(async () => {
        if (sums === 'stored by this version') return;
        for (const [index, sum] of OLD_SUMS.entries()) {
          const sql = 'update schema_migrations set checksum = $2 where version = $1';
          await database.run(sql, [index + 1, sum]);
        }
      });

      it('have nothing to do when they run again', async () => {
        assert.deepEqual(await run(), []);
      });

      it('may change their comments and white space', async () => {
        change(
          '0001_foundation.sql',
          (text) => `-- Reworded.\n${text.replace(/--(?! @).*/g, '-- New words;')}\n`,
        );
        change('0002_delivery.sql', (text) => text.replaceAll('  ', '\t'));
        assert.deepEqual(await run(), []);
      });

      it('may not change a statement', async () => {
        change('0001_foundation.sql', (text) => text.replace('name text not null', 'name text'));
        await assert.rejects(run(), { message: CHANGED });
      });

      it('may not change the body of a trigger', async () => {
        change('0001_foundation.sql', (text) =>
          text.replaceAll('on conflict (merchant_id) do update', 'on conflict do update'),
        );
        await assert.rejects(run(), { message: CHANGED });
      });
    });
  }

  it('change nothing if one of them fails', async () => {
    writeFileSync(
      join(folder, '9001_failing.sql'),
      'create table half (a text); insert into nowhere values (1);',
    );
    await assert.rejects(run());
    await assert.rejects(database.all('select * from half'));
    writeFileSync(join(folder, '9001_failing.sql'), 'create table half (a text);');
    assert.deepEqual(
      (await run()).map(({ version }) => version),
      [9001],
    );
    assert.deepEqual(await database.all('select * from half'), []);
  });
});
