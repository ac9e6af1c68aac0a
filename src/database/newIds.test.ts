import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Param } from './database.ts';
import { drawIds } from './newIds.ts';
import { openSqlite } from './sqlite.ts';

describe('new ids', () => {
  const statements: { sql: string; params: readonly Param[] }[] = [];
  /** A server with a sequence for each table: that of documents begins at 1, that of deliveries at 101. */
  const query = async <Row>(sql: string, params: readonly Param[] = []) => {
    statements.push({ sql, params });
    const tables = [...sql.matchAll(/nextval\('(\w+)_id_seq'\)[^$]*\$(\d)/g)];
    const drawn = tables.map(([, table, position]) => {
      const start = table === 'documents' ? 1 : 101;
      return [
        table,
        Array.from({ length: Number(params[Number(position) - 1]) }, (_, n) => start + n).join(' '),
      ];
    });
    return [Object.fromEntries(drawn)] as Row[];
  };

  it('are drawn with one statement for all, and nobody gets those of another', async () => {
    const wanted = [{ deliveries: 1 }, { deliveries: 2, documents: 1 }, { documents: 1 }, {}];
    assert.deepEqual(await drawIds(query, wanted), [
      { deliveries: [101] },
      { deliveries: [102, 103], documents: [1] },
      { documents: [2] },
      {},
    ]);
    assert.equal(statements.length, 1);
    assert.deepEqual(statements[0]!.params, [3, 2]);
  });

  it('are drawn without a table, because a node of a cluster would draw others', () => {
    assert.doesNotMatch(statements[0]!.sql, /\b(from|join|into) (?!generate_series)/);
  });
});

describe('new ids of the embedded database', () => {
  it('are never drawn twice, whether they are used or not', async () => {
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
});
