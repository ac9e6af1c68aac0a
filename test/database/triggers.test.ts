import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { useMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';

const NOTICED =
  'a change by hand is noticed: a new version, and the same bytes, counts and index as the program’s';
const FULL_TEXT = 'the full-text index has no rows of its own that a foreign key could remove';

/** All triggers, with the reason why a statement of the program cannot do it. */
const TRIGGERS: Readonly<Record<Engine, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  postgres: {
    notifications: { notifications_changed: NOTICED },
    documents: { documents_changed: NOTICED },
  },
  sqlite: {
    notifications: {
      ...{ notifications_inserted: NOTICED, notifications_updated: NOTICED, notifications_deleted: NOTICED },
      ...{ notifications_asked: NOTICED, notifications_counted: NOTICED, notifications_uncounted: NOTICED },
      ...{ notifications_searchable: NOTICED, notifications_searchable_again: NOTICED },
      notifications_not_searchable: FULL_TEXT,
    },
    counted_answers: { answers_counted: 'three of the triggers of notifications share it' },
    documents: {
      ...{ documents_inserted: NOTICED, documents_updated: NOTICED, documents_deleted: NOTICED },
      ...{ documents_indexed: FULL_TEXT, documents_reindexed: FULL_TEXT, documents_unindexed: FULL_TEXT },
    },
    answered_questions: {
      answered_questions_indexed: FULL_TEXT,
      answered_questions_reindexed: FULL_TEXT,
      answered_questions_unindexed: FULL_TEXT,
    },
  },
};

const CATALOG: Readonly<Record<Engine, string>> = {
  sqlite: `select tbl_name as "table", name from sqlite_schema where type = 'trigger'`,
  postgres: `select c.relname as "table", t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal`,
};

onEachEngine('a trigger', (engine) => {
  const shop = useMerchant(engine);
  const listed = Object.entries(TRIGGERS[engine]).flatMap(([table, triggers]) =>
    Object.keys(triggers).map((name) => ({ table, name })),
  );

  it('exists only where a statement cannot do it, and CONTRIBUTING.md names it', async () => {
    const inOrder = (rows: readonly { table: string; name: string }[]) =>
      rows.map(({ table, name }) => `${table}: ${name}`).sort();
    const found = await shop.deskbell.database.all<{ table: string; name: string }>(CATALOG[engine]);
    assert.deepEqual(inOrder(found), inOrder(listed));
    const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    for (const { name } of listed) assert.ok(contributing.includes(`\`${name}\``), name);
  });

  if (engine !== 'postgres') return;

  it('runs for each row, without transition tables, and can run on the node of its row', async () => {
    const { database } = shop.deskbell;
    const triggers = await database.all<{ name: string; row: boolean; before: string; after: string }>(
      `select tgname as name, tgtype & 1 = 1 as row, coalesce(tgoldtable, '') as before, coalesce(tgnewtable, '') as after
        from pg_trigger where not tgisinternal order by tgname`,
    );
    for (const trigger of triggers)
      assert.deepEqual(trigger, { name: trigger.name, row: true, before: '', after: '' });
    const functions = await database.all<{ name: string; body: string }>(
      'select proname as name, prosrc as body from pg_proc where pronamespace = current_schema()::regnamespace',
    );
    assert.deepEqual(functions.map(({ name }) => name).sort(), ['document_changed', 'notification_changed']);
    for (const { name, body } of functions) {
      for (const other of functions)
        assert.ok(!body.includes(`${other.name}(`), `${name} calls ${other.name}`);
      // A select or an update would look for other rows, perhaps on other nodes.
      assert.doesNotMatch(body, /\b(select|from \w+ where|delete from)\b|\bupdate (?!set\b)/);
      const inserts = body.match(/insert into \w+ \([^)]*\)\s+\w+/g) ?? [];
      assert.ok(inserts.length > 0);
      for (const insert of inserts) assert.match(insert, /^insert into \w+ \(merchant_id, [^)]*\)\s+values$/);
      // A cluster plans such a statement each time it runs, as it does with one that leaves out a number.
      for (const [statement] of body.matchAll(/insert into [^;]+;/g))
        assert.doesNotMatch(
          statement,
          /gen_random_uuid|nextval|insert into inbox_changes \((?![^)]*\bseq\b)/,
        );
    }
  });
});
