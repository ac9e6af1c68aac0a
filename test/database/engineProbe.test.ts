import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { startProblem } from '../../src/startProblem.ts';
import { run } from '../support/command.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { startDeskbell } from '../support/server.ts';

const NO_LOCKS =
  /On this database a lock does not hold: .+ Use PostgreSQL 15 or newer, with or without Citus\./;
const NO_SIGNALS = /On this database signals \(LISTEN, NOTIFY\) do not arrive: .+ Use PostgreSQL 15 or newer/;
const REFUSED = /This database refuses a lock or a signal: advisory locks are not supported\. Use PostgreSQL/;

/** What other engines do instead. */
const REPLACED = [
  [
    'with locks of a session that do nothing',
    `pg_try_advisory_lock(bigint) returns boolean language sql as 'select true'`,
    NO_LOCKS,
  ],
  [
    'with locks of a transaction that do nothing',
    `pg_try_advisory_xact_lock(bigint) returns boolean language sql as 'select true'`,
    NO_LOCKS,
  ],
  [
    'with no locks',
    `pg_try_advisory_lock(bigint) returns boolean language plpgsql as
      $$ begin raise feature_not_supported using message = 'advisory locks are not supported'; end $$`,
    REFUSED,
  ],
  ['with signals that go nowhere', `pg_notify(text, text) returns void language sql as ''`, NO_SIGNALS],
] as const;

describe('an engine that is not PostgreSQL', { skip: !engines.includes('postgres') }, () => {
  let database: TestDatabase;
  let url: string;
  before(async () => {
    database = await createDemoDatabase('postgres', 'weak');
    url = database.env.DATABASE_DIRECT_URL ?? database.env.DATABASE_URL!;
  });
  after(() => database?.remove());

  /** Functions of a schema before pg_catalog hide those of PostgreSQL. */
  async function replace(functions: readonly string[]): Promise<void> {
    const client = new pg.Client(url);
    await client.connect();
    const created = functions.map((sql) => `create function fake.${sql};`).join('\n');
    await client
      .query(`drop schema if exists fake cascade; create schema fake; ${created}
        alter database ${new URL(url).pathname.slice(1)} set search_path = public, fake, pg_catalog`)
      .finally(() => client.end());
  }
  const version = (name: string) => `version() returns text language sql as $$ select '${name}' $$`;

  for (const [what, sql, problem] of REPLACED) {
    it(`${what} is reported by doctor, and refused if it says that it is another one`, async () => {
      await replace([sql]);
      const doctor = await run(['doctor'], database);
      assert.equal(doctor.code, 1);
      assert.match(
        doctor.stdout,
        new RegExp(`✖ ${problem.source}.*\\n {4}See "Other engines" in docs/scale\\.md\\.`),
      );
      await replace([sql, version('CockroachDB CCL v25.4.1 (x86_64-pc-linux-gnu)')]);
      const status = await run(['db', 'status'], database);
      assert.deepEqual([status.code, status.stdout], [1, '']);
      assert.match(status.stderr, new RegExp(`^${problem.source}.*\\n$`));
      const started = startDeskbell('postgres', {}, database);
      await assert.rejects(started, (error) => problem.test(`${startProblem(error)}`));
    });
  }

  it('can be used if its locks hold and its signals arrive', async () => {
    await replace([version('PostgreSQL 15.12-YB-2025.2.3.0-b0 on x86_64-pc-linux-gnu')]);
    assert.match((await run(['doctor'], database)).stdout, /✔ Locks hold and signals arrive\./);
    assert.equal((await run(['db', 'status'], database)).code, 0);
  });
});
