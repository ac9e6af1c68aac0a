import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run } from '../support/command.ts';
import { fillEveryTable, runAndKill, tablesOf, untilUnused } from '../support/copying.ts';
import { createDemoDatabase, createTestDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { AURORA, call, startDeskbell } from '../support/server.ts';
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

describe('moving to another database', {
  skip: !engines.includes('postgres') && 'PostgreSQL is missing',
}, () => {
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
    const deskbell = await startDeskbell(
      database.env.DATABASE_URL ? 'postgres' : 'sqlite',
      { WORKER: 'false' },
      database,
    );
    try {
      const reply = refreshToken
        ? await call(deskbell.url, 'POST', '/api/v1/auth/refresh', { body: { refresh_token: refreshToken } })
        : await call(deskbell.url, 'POST', '/api/v1/auth/login', { body: AURORA });
      assert.equal(reply.status, 200, reply.text);
      refreshToken = reply.json.refresh_token;
      const found: Record<string, string> = {};
      for (const path of PATHS) {
        const { status, text, headers } = await deskbell.call('GET', path, {
          token: reply.json.access_token,
        });
        found[path] = `${status} ${headers.get('etag')} ${text}`;
      }
      return found;
    } finally {
      await deskbell.close();
    }
  }

  it('moves every table to PostgreSQL and back, and the server responds in the same way', async () => {
    // Before a server uses them: one that runs for ten seconds numbers the new events, and that table is empty.
    const filled = await tablesOf(source);
    for (const name of Object.values(TABLES).flat())
      if (!['schema_migrations', 'inbox_index', 'sending_hold'].includes(name))
        assert.ok((filled[name]?.rows ?? 0) > 0, `${name} has no rows`);
    const expected = await responses(source);
    for (const [path, text] of Object.entries(expected)) assert.match(text, /^200 /, path);
    const before = await tablesOf(source);

    const there = await run(['move', '--to', postgres.env.DATABASE_URL!, '--json'], { env: source.env });
    assert.equal(there.code, 0, there.stderr);
    assert.deepEqual(there.json.tables, before);
    assert.deepEqual(withoutHold(await tablesOf(source)), withoutHold(before), 'the source is not changed');
    // Whoever starts a server on it by mistake sends nothing twice.
    assert.match(
      (await run(['doctor'], { env: source.env })).stdout,
      /held since .*was moved to another one/,
    );
    assert.doesNotMatch((await run(['doctor'], { env: postgres.env })).stdout, /held since/);
    assert.deepEqual(await responses(postgres), expected);

    const inPostgres = await tablesOf(postgres);
    await untilUnused(postgres);
    const home = await run(['move', '--to', `sqlite:${back.env.DATA_DIR}`, '--json'], { env: postgres.env });
    assert.equal(home.code, 0, home.stderr);
    assert.deepEqual(home.json.tables, inPostgres);
    assert.deepEqual(await responses(back), expected);
  });

  it('goes on after it was killed, and refuses the incomplete target until then', async () => {
    const target = await createTestDatabase('postgres');
    const folder = await createTestDatabase('sqlite');
    const steps = [
      { from: source, to: target, argument: target.env.DATABASE_URL! },
      { from: target, to: folder, argument: folder.env.DATA_DIR! },
    ];
    try {
      target.env.SECRET_KEY = source.env.SECRET_KEY!;
      for (const { from, to, argument } of steps) {
        const expected = await tablesOf(from);
        for (const at of [2, 40, 90]) {
          assert.equal(await runAndKill(['move', '--to', argument], from.env, at), true, `killed at ${at}`);
          const refused = await run(['merchant', 'list'], { env: to.env });
          assert.match(refused.stderr, /not complete: a restore or a move into it was interrupted/);
          for (const database of [from, to]) await untilUnused(database);
        }
        const { code, stderr, json } = await run(['move', '--to', argument, '--json'], { env: from.env });
        assert.equal(code, 0, stderr);
        assert.deepEqual(json.tables, expected);
        assert.deepEqual(
          withoutHold(await tablesOf(from)),
          withoutHold(expected),
          'the source is not changed',
        );
        assert.doesNotMatch((await run(['doctor'], { env: to.env })).stdout, /held since/);
        for (const database of [from, to]) await untilUnused(database);
        const again = await run(['move', '--to', argument], { env: from.env });
        assert.match(again.stderr, /The target is not empty/);
      }
      // New rows get ids that were never given before.
      const added = await run(['merchant', 'add', 'New shop', '--json'], { env: folder.env });
      assert.equal(added.json.id, 3);
    } finally {
      await Promise.all([target.remove(), folder.remove()]);
    }
  });

  it('begins again if the source was used after an interruption', async () => {
    const target = await createTestDatabase('postgres');
    try {
      const args = ['move', '--to', target.env.DATABASE_URL!, '--json'];
      // Merchants are copied by then.
      assert.equal(await runAndKill(args, source.env, 90), true);
      await run(['merchant', 'set', '1', '--name', 'Another name'], { env: source.env });
      await untilUnused(target);
      const refused = await run(args, { env: source.env });
      assert.match(refused.stderr, /differs from its source in .*merchants.* it starts again/);
      await untilUnused(target);
      const { code, stderr } = await run(args, { env: source.env });
      assert.equal(code, 0, stderr);
    } finally {
      await target.remove();
    }
  });

  it('refuses while a server uses the source', async () => {
    for (const database of [source, postgres]) {
      const deskbell = await startDeskbell(database.env.DATABASE_URL ? 'postgres' : 'sqlite', {}, database);
      try {
        const { code, stderr } = await run(['move', '--to', '/nowhere'], { env: database.env });
        assert.equal(code, 1);
        assert.match(stderr, /in use/);
      } finally {
        await deskbell.close();
      }
    }
  });
});
