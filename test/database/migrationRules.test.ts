import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { forEngine, MIGRATIONS, parseMigration } from '../../src/database/upgrade/files.ts';
import { compareVersions } from '../../src/database/upgrade/versions.ts';
import { VERSION } from '../../src/version.ts';
import { LAST_WITHOUT_RULES, problemsOf } from '../support/migrationRules.ts';

const NEWEST = compareVersions(VERSION, '0.2.0') < 0 ? '0.2.0' : VERSION;

describe('the rules for migrations', () => {
  const files = readdirSync(MIGRATIONS).filter((file) => Number(file.slice(0, 4)) > LAST_WITHOUT_RULES);
  const textOf = (file: string) => readFileSync(new URL(file, MIGRATIONS), 'utf8');

  for (const file of files) {
    it(`are kept by ${file}`, () => assert.deepEqual(problemsOf(file, textOf(file), NEWEST), []));
  }

  it('never support an older program again that an earlier migration has given up', () => {
    const supported = files.toSorted().map((file) => parseMigration(file, textOf(file), 'sqlite').supports!);
    assert.deepEqual(supported, supported.toSorted(compareVersions));
  });

  const ofExpand = (sql: string) => problemsOf('0099_x.sql', `-- @expand 0.2.0\n${sql}`, '0.2.0');
  for (const [what, sql] of [
    [
      'a new table with its index and its trigger',
      `create table cats (id bigint primary key, merchant_id bigint references merchants (id));
       create unique index cats_merchant on cats (merchant_id); insert into cats (id) values (1);`,
    ],
    [
      'columns that are nullable or have a constant default',
      `alter table merchants add column a text; alter table merchants add column c text default 'x';
       alter table merchants add column b integer not null default 0;`,
    ],
    ['indexes on their own', '-- @concurrently\ncreate index merchants_name on merchants (name);'],
    [
      'a change in the background',
      `alter table notifications add column a text;
-- @background notifications
update notifications set a = 'x' where merchant_id = $1 and id > $2 and id <= $3;`,
    ],
  ] as const) {
    it(`allow ${what}`, () => assert.deepEqual(ofExpand(sql), []));
  }

  const ADD_COLUMN = 'alter table merchants add column a text';
  for (const [what, sql, problem] of [
    ['an index that blocks writers', 'create index a on notifications (status);', /-- @concurrently/],
    [
      'a unique index',
      '-- @concurrently\ncreate unique index a on notifications (status);',
      /without unique/,
    ],
    ['a column that older programs do not set', `${ADD_COLUMN} not null;`, /nullable or have a default/],
    [
      'a column that rewrites the table',
      `${ADD_COLUMN} generated always as ('x') stored;`,
      /read or written/,
    ],
    ['a default that is not constant', `${ADD_COLUMN} default current_timestamp;`, /must be a constant/],
    ['a rename', 'alter table merchants rename column name to title;', /Not in an expand/],
    ['a drop', 'drop table merchants;', /Not in an expand migration/],
    ['a change to many rows at once', "update merchants set name = 'x';", /Not in an expand/],
    [
      'a trigger on an old table',
      'create trigger a after insert on merchants begin select 1; end;',
      /A trigger on merchants/,
    ],
    [
      'a change in the background without bounds',
      "-- @background notifications\nupdate notifications set a = 'x';",
      /merchant_id = \$1/,
    ],
  ] as const) {
    it(`refuse ${what}`, () => assert.match(ofExpand(sql).join('\n'), problem));
  }

  for (const [what, sql, problem] of [
    ['no kind', 'create table cats (id bigint);', /must say -- @expand or -- @contract/],
    [
      'a version that does not exist yet',
      '-- @contract 0.3.0\ndrop table cats;',
      /0\.3\.0 is not one of them/,
    ],
    ['a version from before the rules', '-- @expand 0.1.0\ncreate table cats (id bigint);', /0\.1\.0 is not/],
  ] as const) {
    it(`refuse ${what}`, () => assert.match(problemsOf('0099_x.sql', sql, '0.2.0').join('\n'), problem));
  }
});

describe('the migrations', () => {
  const names = readdirSync(MIGRATIONS).sort();

  it('are numbered without gaps', () => {
    assert.ok(names.length > 0);
    for (const [index, name] of names.entries()) {
      assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z\\d_]+\\.sql$`));
    }
  });

  for (const name of names) {
    it(`${name} has complete statements for each engine, and does not begin or end a transaction`, () => {
      const text = readFileSync(new URL(name, MIGRATIONS), 'utf8');
      const markers = [...text.matchAll(/^\s*-- @(.*)$/gm)].map(([, marker]) => marker!.trim());
      // A misspelled one would have no effect: its lines would be for both engines.
      const known = /^(sqlite|postgres|both|concurrently|(expand|contract) \d+\.\d+\.\d+|background \w+)$/;
      for (const marker of markers) assert.match(marker, known);
      const sections = markers.filter((marker) => ['sqlite', 'postgres', 'both'].includes(marker));
      assert.equal(sections.at(-1) ?? 'both', 'both', 'the rest of the file would be for one engine only');
      for (const engine of ['sqlite', 'postgres'] as const) {
        const sql = forEngine(text, engine).replace(/--.*$/gm, '').trim();
        assert.match(sql, /^$|;$/);
        assert.doesNotMatch(sql, /^\s*(begin|commit|rollback|end transaction)\s*;/im);
      }
    });
  }
});
