import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openSqlite } from './sqlite.ts';

it('new ids of the embedded database are never drawn twice, whether they are used or not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-ids-'));
  const database = openSqlite(folder, { lock: false });
  try {
    await database.script('create table sales (id integer primary key autoincrement)');
    const drawn = await database.transaction(async (tx) => {
      const first = await tx.newIds('sales', 2);
      const second = await tx.newIds('sales', 1);
      await tx.run('insert into sales (id) values ($1)', [second[0]!]);
      return [...first, ...second];
    });
    assert.deepEqual(drawn, [1, 2, 3]);
    await database.run('insert into sales default values');
    assert.deepEqual(await database.transaction((tx) => tx.newIds('sales', 1)), [5]);
  } finally {
    await database.close();
    rmSync(folder, { recursive: true });
  }
});
