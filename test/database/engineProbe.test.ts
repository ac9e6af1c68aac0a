import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import pg from 'pg';
import { root, run } from '../support/command.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { startDeskbell } from '../support/server.ts';

const SKIP = { skip: !engines.includes('postgres') && 'PostgreSQL is missing' };
const NO_LOCKS =
  /On this database a lock does not hold: .+ Use PostgreSQL 15 or newer, with or without Citus\./;
const NO_SIGNALS = /On this database signals \(LISTEN, NOTIFY\) do not arrive: .+ Use PostgreSQL 15 or newer/;

const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** What other engines do instead. */
const REPLACED = {
  'locks of a session that do nothing': [
    `create function fake.pg_try_advisory_lock(bigint) returns boolean language sql as 'select true'`,
    NO_LOCKS,
  ],
  'locks of a transaction that do nothing': [
    `create function fake.pg_try_advisory_xact_lock(bigint) returns boolean language sql as 'select true'`,
    NO_LOCKS,
  ],
  'no locks': [
    `create function fake.pg_try_advisory_lock(bigint) returns boolean language plpgsql as
      $$ begin raise feature_not_supported using message = 'advisory locks are not supported'; end $$`,
    /This database refuses a lock or a signal: advisory locks are not supported\. Use PostgreSQL/,
  ],
  'signals that go nowhere': [
    `create function fake.pg_notify(text, text) returns void language sql as ''`,
    NO_SIGNALS,
  ],
} as const;

describe('an engine that is not PostgreSQL', SKIP, () => {
  const databases: TestDatabase[] = [];
  after(() => Promise.all(databases.map((database) => database.remove())));

  /** Functions of a schema before pg_catalog hide those of PostgreSQL. */
  async function createOtherEngine(
    sql: string,
  ): Promise<TestDatabase & { become(version: string): Promise<void> }> {
    const database = await createDemoDatabase('postgres', 'weak');
    databases.push(database);
    const url = database.env.DATABASE_DIRECT_URL ?? database.env.DATABASE_URL!;
    const query = async (text: string) => {
      const client = new pg.Client(url);
      await client.connect();
      await client.query(text).finally(() => client.end());
    };
    await query(`create schema fake; ${sql};
      alter database ${new URL(url).pathname.slice(1)} set search_path = public, fake, pg_catalog`);
    return {
      ...database,
      become: (version) =>
        query(
          `create or replace function fake.version() returns text language sql as $$ select '${version}' $$`,
        ),
    };
  }

  for (const [what, [sql, problem]] of Object.entries(REPLACED)) {
    it(`with ${what} is reported by doctor, and refused if it says that it is another one`, async () => {
      const database = await createOtherEngine(sql);
      const doctor = await run(['doctor'], database);
      assert.equal(doctor.code, 1);
      assert.match(
        doctor.stdout,
        new RegExp(`✖ ${problem.source}.*\\n {4}See "Other engines" in docs/scale\\.md\\.`),
      );
      await database.become('CockroachDB CCL v25.4.1 (x86_64-pc-linux-gnu)');
      const status = await run(['db', 'status'], database);
      assert.deepEqual([status.code, status.stdout], [1, '']);
      assert.match(status.stderr, new RegExp(`^${problem.source}.*\\n$`));
      const start = async () => (await startDeskbell('postgres', {}, database)).close();
      await assert.rejects(start(), problem);
    });
  }

  it('can be used if its locks hold and its signals arrive', async () => {
    const database = await createOtherEngine('select 1');
    await database.become('PostgreSQL 15.12-YB-2025.2.3.0-b0 on x86_64-pc-linux-gnu');
    const doctor = await run(['doctor'], database);
    assert.match(doctor.stdout, /✔ Locks hold and signals arrive\./);
    assert.equal((await run(['db', 'status'], database)).code, 0);
  });
});

describe('the SQL that other engines lack', () => {
  const sources = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const filesWith = (pattern: RegExp) =>
    sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8').replace(COMMENTS, '')));

  for (const [what, pattern, files] of [
    ['advisory locks', /pg_(try_)?advisory/i, ['src/database/locks.ts']],
    [
      'LISTEN and NOTIFY',
      /pg_notify|[`'"\n]\s*(un)?listen \$|[`'"\n]\s*notify \w/i,
      ['src/database/signals.ts'],
    ],
    // Only migrations create them.
    ['triggers', /create (or replace )?(constraint )?trigger/i, []],
  ] as const) {
    it(`is in one place: ${what}`, () => assert.deepEqual(filesWith(pattern), files));
  }
});
