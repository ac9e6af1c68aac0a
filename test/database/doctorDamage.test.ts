import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { run } from '../support/command.ts';
import { createUsedDatabase, damage } from '../support/copying.ts';
import type { TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';

/** The same on PostgreSQL, which needs a server of its own: test/release/database/doctorDamage.test.ts. */
describe('a damaged database on SQLite', () => {
  let source: TestDatabase | undefined;
  after(() => source?.remove());

  it('is reported by doctor, whatever is damaged: a table, an index, or only one value in an index', async () => {
    source = await createUsedDatabase('sqlite');
    const connection = new DatabaseSync(databaseFile(source.env.DATA_DIR!));
    connection.exec('pragma wal_checkpoint(truncate)');
    const pages = Object.fromEntries(
      ['notifications', 'notifications_status'].map((name) => {
        const row = connection.prepare('select rootpage from sqlite_schema where name = ?').get(name);
        return [name, (Number(row!.rootpage) - 1) * 4096];
      }),
    );
    connection.close();
    const copy = () => {
      const folder = newFolder();
      cpSync(source!.env.DATA_DIR!, folder, { recursive: true });
      return folder;
    };
    const damages: ((file: string) => void)[] = [
      (file) => damage(file, pages.notifications!, 200),
      (file) => damage(file, pages.notifications_status!, 200),
      (file) => {
        const bytes = readFileSync(file);
        const at = bytes.indexOf('answered', pages.notifications_status);
        assert.ok(at > 0 && at < pages.notifications_status! + 4096);
        damage(file, at, 1);
      },
    ];
    assert.match(
      (await run(['doctor'], { env: { DATA_DIR: copy() } })).stdout,
      /The database is not damaged/,
    );
    for (const [n, apply] of damages.entries()) {
      const dataDir = copy();
      apply(databaseFile(dataDir));
      for (const args of [['doctor'], ['doctor', '--full']]) {
        const { code, stdout } = await run(args, { env: { DATA_DIR: dataDir } });
        assert.equal(code, 1, `${n}: ${stdout}`);
        assert.match(stdout, /✖ The database is damaged: .+\.\n {4}Restore a backup/, `${n}: ${stdout}`);
      }
    }
  });
});
