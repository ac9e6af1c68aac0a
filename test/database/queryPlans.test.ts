import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { createDemoDatabase, type TestDatabase } from '../support/databases.ts';
import { pretendLarge } from '../support/plans/large.ts';
import { type Planner, postgresPlanner, sqlitePlanner } from '../support/plans/scans.ts';
import { onEachEngine } from '../support/server.ts';

/** At the end of `npm test`, every statement that the tests made the program run is looked at like this. */
onEachEngine('the check of plans', (engine) => {
  let database: TestDatabase;
  let planner: Planner;
  before(async () => {
    database = await createDemoDatabase(engine, 'weak');
    const { DATABASE_URL: url, DATA_DIR } = database.env;
    if (url) await pretendLarge(url);
    planner = url ? await postgresPlanner(url) : sqlitePlanner(databaseFile(DATA_DIR!));
  });
  after(async () => {
    await planner?.close();
    await database?.remove();
  });
  const tablesScanned = async (condition: string) => {
    const scans = await planner.scansOf(`select id from documents where ${condition}`);
    return [...new Set(scans.map(({ table }) => table))];
  };

  for (const condition of [
    'merchant_id = $1 and body = $2',
    'id = $1 and body = $2 or title = $2',
    // SQLite does not say that it reads until it has found one.
    ...(engine === 'postgres'
      ? ['merchant_id = $1 and body = $2 order by updated_at desc, id desc limit 1']
      : ['merchant_id = $1 and body = $2 order by wordings_bytes limit 1']),
  ])
    it(`finds a scan where ${condition}`, async () =>
      assert.deepEqual(await tablesScanned(condition), ['documents']));

  for (const condition of [
    'merchant_id = $1 and title = $2 order by updated_at desc, id desc limit 1',
    'merchant_id = $1 order by updated_at desc, id desc limit 10',
    'merchant_id = $1 and id = $2',
  ])
    it(`finds none where ${condition}`, async () => assert.deepEqual(await tablesScanned(condition), []));
});
