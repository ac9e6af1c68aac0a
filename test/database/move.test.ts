import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run } from '../support/command.ts';
import { fillEveryTable, tablesOf, untilUnused } from '../support/copying.ts';
import { createDemoDatabase, createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { AURORA, login, refresh, startDeskbell } from '../support/server.ts';
import { TABLES } from '../support/tables.ts';

const withoutHold = ({ sending_hold, ...others }: Awaited<ReturnType<typeof tablesOf>>) => others;

/** What the merchant sees. Each is compared byte for byte. */
const PATHS = [
  '/api/v1/notification/',
  '/api/v1/notification/?status=answered&limit=20',
  '/api/v1/inbox?tab=open',
  '/api/v1/inbox?tab=answered&search=organic',
  '/api/v1/inbox/counts',
  '/api/v1/conversation/',
  '/api/v1/conversation/1/timeline',
  '/api/v1/knowledge/?search=coffee',
  '/api/v1/knowledge/export?format=jsonl',
  '/api/v1/delivery/?limit=50',
  '/api/v1/events/log?limit=50',
  '/api/v1/webhooks',
  '/api/v1/keys',
  '/api/v1/audit?limit=20',
  '/api/v1/team',
];

describe('moving to another database', { skip: !engines.includes('postgres') }, () => {
  let source: TestDatabase;
  let postgres: TestDatabase;
  let back: TestDatabase;
  let refreshToken = '';
  before(async () => {
    source = await createDemoDatabase('sqlite', 'weak');
    postgres = await createTestDatabase('postgres');
    back = await createTestDatabase('sqlite');
    await fillEveryTable(source);
    // Both engines have the same key.
    for (const database of [source, postgres, back])
      database.env.SECRET_KEY = readFileSync(join(source.env.DATA_DIR!, 'secret.key'), 'utf8').trim();
  });
  after(() => Promise.all([source, postgres, back].map((database) => database?.remove())));

  /** The responses of a server on this database, to a user who signed in before the first move. */
  async function responses(database: TestDatabase) {
    const engine = database.env.DATABASE_URL ? 'postgres' : 'sqlite';
    const deskbell = await startDeskbell(engine, { WORKER: 'false' }, database);
    try {
      const inUse = await run(['move', '--to', '/nowhere'], { env: database.env });
      assert.match(inUse.stderr, /in use/);
      const reply = await (refreshToken ? refresh(deskbell, refreshToken) : login(deskbell, AURORA));
      assert.equal(reply.status, 200, reply.text);
      const { refresh_token, access_token: token } = reply.json;
      refreshToken = refresh_token;
      const found: Record<string, string> = {};
      for (const path of PATHS) {
        const { status, text, headers } = await deskbell.call('GET', path, { token });
        assert.equal(status, 200, path);
        found[path] = `${headers.get('etag')} ${text}`;
      }
      return found;
    } finally {
      await deskbell.close();
      await untilUnused(database);
    }
  }

  it('moves every table to PostgreSQL and back, and the server responds in the same way', async () => {
    // Before a server uses them: one that runs for ten seconds numbers the new events, and that table is empty.
    const filled = await tablesOf(source);
    for (const name of Object.values(TABLES).flat())
      if (!['schema_migrations', 'inbox_index', 'sending_hold'].includes(name))
        assert.ok((filled[name]?.rows ?? 0) > 0, `${name} has no rows`);
    const expected = await responses(source);
    const before = await tablesOf(source);

    const there = await run(['move', '--to', postgres.env.DATABASE_URL!, '--json'], { env: source.env });
    assert.equal(there.code, 0, there.stderr);
    assert.deepEqual(there.json.tables, before);
    assert.deepEqual(withoutHold(await tablesOf(source)), withoutHold(before), 'the source is not changed');
    // Whoever starts a server on it by mistake sends nothing twice.
    const doctor = async ({ env }: TestDatabase) => (await run(['doctor'], { env })).stdout;
    assert.match(await doctor(source), /held since .*was moved to another one/);
    assert.doesNotMatch(await doctor(postgres), /held since/);
    await untilUnused(postgres);
    const again = await run(['move', '--to', postgres.env.DATABASE_URL!], { env: source.env });
    assert.match(again.stderr, /The target is not empty/);
    assert.deepEqual(await responses(postgres), expected);

    const inPostgres = await tablesOf(postgres);
    const home = await run(['move', '--to', `sqlite:${back.env.DATA_DIR}`, '--json'], { env: postgres.env });
    assert.equal(home.code, 0, home.stderr);
    assert.deepEqual(home.json.tables, inPostgres);
    assert.deepEqual(await responses(back), expected);
  });
});
