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
});
