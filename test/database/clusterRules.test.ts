import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadModule } from 'libpg-query';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { GOOD, IN_BACKGROUND, WRONG } from '../support/spread/examples.ts';
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

  for (const { what, sql, problems } of WRONG)
    it(`refuse ${what}`, () => {
      const found = check(sql, layout).problems;
      for (const problem of problems)
        assert.ok(
          found.some((text) => problem.test(text)),
          `${problem} is not among: ${found.join('; ')}`,
        );
    });

  for (const { what, sql } of GOOD)
    it(`accept ${what}`, () => assert.deepEqual(check(sql, layout), { problems: [], readsAcross: [] }));

  for (const { what, sql } of IN_BACKGROUND)
    it(`accept in the background ${what}`, () => {
      const { problems, readsAcross } = check(sql, layout);
      assert.deepEqual(problems, []);
      assert.ok(readsAcross.length > 0);
    });
});
