import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { databaseFile } from '../../../src/database/sqliteFolder.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { run } from '../../support/command.ts';
import { createUsedDatabase, damage } from '../../support/copying.ts';
import { engines, type TestDatabase } from '../../support/databases.ts';
import { newFolder } from '../../support/process.ts';
import { startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const program = findProgram('postgres');
describe('a damaged database on PostgreSQL', {
  skip: (!program || !engines.includes('postgres')) && 'PostgreSQL is missing',
}, () => {
  let service: Service | undefined;
  after(() => service?.stop());

  it('is reported by doctor --full, and by doctor when PostgreSQL has seen it', async () => {
    service = await startPostgres(program!, { durable: false });
    const secrets = { SECRET_KEY: newSecretKey(), DEMO: 'true' };
    const env = { ...secrets, DATABASE_URL: service.url, DATA_DIR: newFolder() };
    await (await startDeskbell('postgres', { WORKER: 'false' }, { env, async remove() {} })).close();
    assert.match((await run(['doctor', '--full'], { env })).stdout, /! The tables and indexes were not read/);
    const client = new pg.Client(service.url);
    await client.connect();
    await client.query('create extension amcheck');
    const { rows } = await client.query(
      `select current_setting('data_directory') as folder, pg_relation_filepath('documents') as table,
        pg_relation_filepath('notifications_status') as index`,
    );
    await client.end();
    assert.match((await run(['doctor', '--full'], { env })).stdout, /✔ The database is not damaged/);

    await service.halt();
    const { folder, table, index } = rows[0];
    const { uid, gid } = statSync(folder);
    const tool = join(realpathSync(program!), '..', 'pg_checksums');
    await promisify(execFile)(tool, ['--enable', '--no-sync', '-D', folder], { uid, gid, cwd: folder });
    damage(join(folder, table), 8192 - 400, 200);
    damage(join(folder, index), 8192 + 8192 - 400, 200);
    await service.resume();
    const { code, stdout } = await run(['doctor', '--full'], { env });
    assert.equal(code, 1);
    assert.match(stdout, /✖ The table documents is damaged \(XX001\)\.\n {4}Restore a backup/, stdout);
    assert.match(stdout, /✖ The index notifications_status is damaged \(XX00[12]\)\./, stdout);
    await until('PostgreSQL has counted them', async () =>
      /PostgreSQL has read \d+ damaged pages/.test((await run(['doctor'], { env })).stdout),
    );
  });
});

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
