import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { citusUrl, createDemoDatabase, engines, type TestDatabase } from '../../support/databases.ts';
import { startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { installCitus } from '../../support/stand-ins/citus.ts';

const skip = citusUrl
  ? 'the tables of a real cluster are spread already'
  : !engines.includes('postgres') && 'PostgreSQL is missing';

/** What `db distribute` does first and last, as far as a server can see it. */
const BEGIN = 'create table distribution_keys (name text)';
const SPREAD = `insert into pg_dist_partition (logicalrelid, partmethod, partkey) values ('notifications', 'h', 'merchant_id')`;

describe('a server that starts while the tables are spread', { skip }, () => {
  let testDatabase: TestDatabase;
  let client: pg.Client;
  before(async () => {
    testDatabase = await createDemoDatabase('postgres');
    const url = testDatabase.env.DATABASE_DIRECT_URL ?? testDatabase.env.DATABASE_URL!;
    await installCitus(url);
    client = new pg.Client(url);
    await client.connect();
  });
  after(async () => {
    await client?.end();
    await testDatabase?.remove();
  });

  /** Starts a server, and runs `sql` after it has opened the database and before it is announced. */
  async function startDuring(sql: string): Promise<unknown> {
    await client.query('begin; lock table signing_keys in access exclusive mode');
    const started = startDeskbell('postgres', {}, testDatabase).then(
      (deskbell) => deskbell.close(),
      (error: unknown) => error,
    );
    await until('the server waits', async () => {
      const { rows } = await client.query(
        `select 1 from pg_locks where not granted and relation = 'signing_keys'::regclass
          and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows.length > 0;
    });
    await client.query(`${sql}; commit`);
    return started;
  }

  it('does not start before that has finished', async () => {
    const error = await startDuring(BEGIN);
    assert.match(String(error), /Spreading the tables over the nodes .+ distribute/);
    await client.query('drop table distribution_keys');
  });

  it('must be started again if that has finished meanwhile', async () => {
    const error = await startDuring(SPREAD);
    assert.match(String(error), /The tables were spread over the nodes while this process started/);
    const database = await openDatabase(readConfig(testDatabase.env), 'command');
    assert.equal(database.isSpread, true);
    await database.close();
  });
});
