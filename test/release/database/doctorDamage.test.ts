import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { run } from '../../support/command.ts';
import { damage } from '../../support/copying.ts';
import { engines } from '../../support/databases.ts';
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
