import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { columnsOf, DAY_MS, hasMerchant, keyOf, namesIn, type Table } from '../../src/database/tables.ts';
import { EXPORT_SECTIONS, lineIn, userSections } from '../../src/export/sections.ts';
import { TABLES } from '../../src/tables.ts';
import { root } from '../support/process.ts';
import { onEachEngine, useDeskbell } from '../support/server.ts';
import { TABLES as BY_FOLDER } from '../support/tables.ts';

/** Columns with such names have something of a person, or say whose a row is. */
const PERSONAL = {
  customer: /^(conversation_id|notification_id|customer_\w+|phone|recipient|question|lead_phone|person)$/,
  user: /^(user_id|email|actor|answered_by|assigned_to|created_by|judged_by|sent_by|taken_over_by|account)$/,
};
const isOnly = (table: Table, engine: string) => table.postgres === 'table' && engine !== 'postgres';
const erasedColumns = (table: Table, of: 'customer' | 'user') => {
  const erase = table[of]?.erase;
  return typeof erase === 'object' ? Object.keys(erase) : [];
};

onEachEngine('the list of tables', (engine) => {
  const deskbell = useDeskbell(engine);

  it('has every table and column of the database, and no others', async () => {
    const rows = await deskbell.database.all<{ table: string; name: string }>(
      engine === 'sqlite'
        ? `select l.name as "table", c.name from pragma_table_list l join pragma_table_xinfo(l.name) c
            where l.schema = 'main' and l.type = 'table' and l.name not like 'sqlite%'`
        : `select table_name as "table", column_name as name from information_schema.columns
            where table_schema = current_schema()`,
    );
    const stored = Map.groupBy(rows, ({ table }) => table);
    const known = TABLES.filter((table) => !isOnly(table, engine));
    assert.deepEqual([...stored.keys()].sort(), known.map(({ name }) => name).sort());
    for (const table of known) {
      const more = engine === 'postgres' && table.postgres !== 'table' ? namesIn(table.postgres) : [];
      const names = stored.get(table.name)!.map(({ name }) => name);
      assert.deepEqual([...columnsOf(table), ...more].sort(), names.sort(), table.name);
    }
  });
});

describe('the list of tables', () => {
  it('has the tables of every folder once', () => {
    assert.deepEqual(Object.values(BY_FOLDER).flat().sort(), TABLES.map(({ name }) => name).sort());
  });

  it('says of every table what exports have of it, or why they have nothing', () => {
    for (const table of TABLES) {
      const { name, line, because, exported, customer, user } = table;
      assert.equal(line === undefined, exported === undefined, name);
      if (hasMerchant(table)) assert.ok(lineIn(table, 'merchant') ?? because, name);
      for (const [of, personal] of Object.entries({ customer, user })) {
        if (!personal) continue;
        const isExported = lineIn(table, of as 'customer' | 'user') !== undefined;
        assert.ok(
          isExported ? personal.because === undefined : (personal.because ?? because),
          `${name}, ${of}: export it, or give the reason`,
        );
      }
    }
    const typesOf = (of: 'merchant' | 'user') => TABLES.flatMap((table) => lineIn(table, of) ?? []).sort();
    assert.deepEqual(EXPORT_SECTIONS.map(({ type }) => type).sort(), typesOf('merchant'));
    assert.deepEqual(
      userSections(1)
        .map(({ type }) => type)
        .sort(),
      typesOf('user'),
    );
  });

  it('says of every table with a column of a person what erasing does', () => {
    for (const table of TABLES)
      for (const person of ['customer', 'user'] as const)
        for (const column of columnsOf(table).filter((name) => PERSONAL[person].test(name)))
          assert.ok(table[person], `${table.name}.${column} of a ${person}`);
  });

  it('names only columns that the table has', () => {
    for (const table of TABLES) {
      const { key, json, as = {}, merchant, customer, user, kept = [], stores } = table;
      const named = [
        ...[...keyOf({ key: key ?? 'id' }), ...namesIn(json), ...Object.keys(as), ...namesIn(stores?.texts)],
        ...[merchant, customer, user].flatMap((one) => namesIn(one?.only)),
        ...kept.flatMap(({ since }) => since ?? []),
        ...[...erasedColumns(table, 'customer'), ...erasedColumns(table, 'user')],
      ];
      for (const column of named) assert.ok(columnsOf(table).includes(column), `${table.name}.${column}`);
      for (const column of erasedColumns(table, 'customer'))
        assert.ok(namesIn(table.exported).includes(column), `${table.name}.${column}: export it`);
    }
  });

  it('names only functions that exist', () => {
    const source = globSync('src/**/*.ts', { cwd: root }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const ways = TABLES.flatMap(({ customer, user }) => [customer?.erase, user?.erase]);
    for (const way of new Set(ways.filter((one) => typeof one === 'string')))
      if (!['delete', 'with', 'stays'].includes(way))
        assert.ok(
          source.some((text) => text.includes(`function ${way}(`)),
          way,
        );
  });

  it('is the table of docs/data.md, with its times', () => {
    const [, text = ''] = readFileSync(join(root, 'docs/data.md'), 'utf8').split('## Retention');
    const rows = [...text.matchAll(/^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)].slice(1);
    const keptIn = new Map<string, string>();
    for (const [, names, kept] of rows)
      for (const [, name] of names!.matchAll(/`(\w+)`/g))
        keptIn.set(name!, `${keptIn.get(name!) ?? ''} ${kept}`);
    assert.deepEqual([...keptIn.keys()].sort(), TABLES.map(({ name }) => name).sort());
    for (const { name, kept = [] } of TABLES) {
      for (const { for: time } of kept) {
        const said = keptIn.get(name)!;
        if (typeof time === 'string' && time !== 'accessTokens')
          assert.ok(said.includes(`RETENTION_${time.toUpperCase()}_DAYS`), name);
        if (typeof time !== 'number' || said.includes('security')) continue;
        assert.ok(said.includes(time === DAY_MS ? '24 hours' : `${time / DAY_MS} days`), `${name}: ${said}`);
      }
    }
  });
});
