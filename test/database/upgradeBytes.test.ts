import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createTestDatabase } from '../support/databases.ts';
import { onEachEngine } from '../support/server.ts';

/** The last one with which triggers counted notes, wordings and versions. */
const OLD_VERSION = 31;
const AT = '2026-11-01T00:00:00.000Z';

/** As the old program did. Its triggers counted. */
async function fill(database: Database): Promise<void> {
  const statements: readonly [sql: string, ...params: string[]][] = [
    [`insert into merchants (id, name, created_at) values (1, 'Aurora', $1)`, AT],
    [
      `insert into conversations (merchant_id, id, reference, customer_name, customer_phone, created_at, updated_at)
        values (1, 1, 'a', 'Ana', '', $1, $1)`,
      AT,
    ],
    [`insert into answer_schemas (id, schema) values ('s', '{}')`],
    ...[1, 2].map((id): [string, string] => [
      `insert into notifications (id, merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id)
        values (${id}, 1, 1, 'user_question_request', $1, $1, '{"question":"Größe?"}', '[]', '[]', 's')`,
      AT,
    ]),
    ...['Größer', 'Kleiner'].map((text): [string, string, string] => [
      `insert into notification_notes (merchant_id, notification_id, user_id, text, mentions, created_at)
        values (1, 1, 1, $2, '[]', $1)`,
      AT,
      text,
    ]),
    ...[1, 2].map((id): [string, string] => [
      `insert into documents (id, merchant_id, title, body, created_at, updated_at, title_words, words, word_forms)
        values (${id}, 1, 'Größen', 'S', $1, $1, '', '', '')`,
      AT,
    ]),
    ...['S', 'M, ü', 'XL'].flatMap((body, index): [string, ...string[]][] => [
      [
        'update documents set body = $1, version = $2 where merchant_id = 1 and id = 1',
        body,
        String(index + 1),
      ],
      [
        `insert into document_versions (merchant_id, document_id, version, title, body, what, created_at)
          values (1, 1, $3, 'Größen', $2, 'edit', $1)`,
        ...[AT, body, String(index + 1)],
      ],
    ]),
    [
      `insert into document_versions (merchant_id, document_id, version, title, body, what, created_at)
        values (1, 2, 1, 'Größen', 'S', 'edit', $1)`,
      AT,
    ],
    ...[1, 2].map((id): [string, string] => [
      `insert into document_wordings (merchant_id, document_id, text, created_at) values (1, ${id}, 'Wie groß?', $1)`,
      AT,
    ]),
  ];
  for (const [sql, ...params] of statements) await database.run(sql, params);
}

onEachEngine('storage of a database from before the upgrade', (engine) => {
  it('is the same after it, and is freed with everything that is deleted', async () => {
    const testDatabase = await createTestDatabase(engine);
    const database = await openDatabase(readConfig(testDatabase.env), 'serve');
    try {
      const bytes = async () => ({
        ...(await database.one<{ inbox: number; knowledge: number }>(
          `select (select bytes from inboxes) as inbox, (select bytes from live_versions) as knowledge`,
        ))!,
      });
      await migrate(database, () => new Date(), undefined, OLD_VERSION);
      await fill(database);
      const before = await bytes();
      assert.deepEqual(before, {
        inbox: 2 * 423 + 2 * 200 + 8 + 7,
        knowledge: 4 * 8 + 1 + 5 + 2 + 1 + 2 * 10,
      });
      await migrate(database, () => new Date());
      assert.deepEqual(await bytes(), before);
      for (const id of [1, 2]) {
        await database.run('delete from notifications where merchant_id = 1 and id = $1', [id]);
        await database.run('delete from documents where merchant_id = 1 and id = $1', [id]);
        if (id === 1) assert.deepEqual(await bytes(), { inbox: 423, knowledge: 8 + 1 + 10 });
      }
      assert.deepEqual(await bytes(), { inbox: 0, knowledge: 0 });
    } finally {
      await database.close();
      await testDatabase.remove();
    }
  });
});
