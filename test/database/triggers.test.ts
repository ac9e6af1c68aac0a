import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { useMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';

const CATALOG: Readonly<Record<Engine, string>> = {
  sqlite: `select name from sqlite_schema where type = 'trigger'`,
  postgres: 'select tgname as name from pg_trigger where not tgisinternal',
};

onEachEngine('a trigger', (engine) => {
  const shop = useMerchant(engine);

  it('exists only where a statement of the program cannot do it: CONTRIBUTING.md names each, with the reason', async () => {
    const { database } = shop.deskbell;
    const triggers = await database.all<{ name: string }>(CATALOG[engine]);
    assert.ok(triggers.length > 1);
    const lines = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('\n');
    const table = lines.filter((line) => line.startsWith('| `')).join('\n');
    for (const { name } of triggers) assert.ok(table.includes(`\`${name}\``), name);
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
