import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadModule } from 'libpg-query';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { GOOD, WRONG } from '../support/spread/examples.ts';
import { type Layout, readLayout } from '../support/spread/layout.ts';
import { check } from '../support/spread/rules.ts';

/** At the end of `npm test`, every statement that the tests made the program run is checked like this. */
describe('the rules for statements on a cluster', { skip: !engines.includes('postgres') }, () => {
  let database: TestDatabase;
  let layout: Layout;
  before(async () => {
    await loadModule();
    database = await createDemoDatabase('postgres', 'weak');
    layout = await readLayout(database.env.DATABASE_URL!);
  });
  after(() => database?.remove());

  it('refuse what a cluster cannot run, or only slowly', () => {
    for (const { sql, problem } of WRONG) assert.match(check(sql, layout).problems.join('\n'), problem, sql);
  });

  it('accept what one node can do', () => {
    for (const sql of GOOD) assert.deepEqual(check(sql, layout), { problems: [], readsAcross: [] }, sql);
  });
});
