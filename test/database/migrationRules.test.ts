import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { canonicalText, splitStatements } from '../../src/database/statements.ts';
import { forEngine, MIGRATIONS, parseMigration } from '../../src/database/upgrade/files.ts';
import { compareVersions } from '../../src/database/upgrade/versions.ts';
import { VERSION } from '../../src/version.ts';

/**
 * The rules for migrations: see "Migrations" in CONTRIBUTING.md. Those up to this one belong to version 0.2, the first
 * that keeps the rules.
 */
const LAST_WITHOUT_RULES = 33;
const FIRST_VERSION = '0.2.0';

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

/** What breaks the rules in a migration, in words for its author. `newest` is the newest version that exists. */
function problemsOf(file: string, text: string, newest: string): string[] {
  const found = new Set<string>();
  for (const engine of ['sqlite', 'postgres'] as const) {
    for (const problem of problemsOn(engine, file, text, newest)) found.add(problem);
  }
  return [...found];
}

function problemsOn(engine: Engine, file: string, text: string, newest: string): string[] {
  const { kind, supports, sql, indexes, background } = parseMigration(file, text, engine);
  if (!kind || !supports)
    return ['It must say -- @expand or -- @contract, with the oldest version that goes on.'];
  const problems: string[] = [];
  if (compareVersions(supports, FIRST_VERSION) < 0 || compareVersions(supports, newest) > 0) {
    problems.push(`Versions from ${FIRST_VERSION} to ${newest} exist; ${supports} is not one of them.`);
  }
  for (const index of indexes) {
    if (!/^create index \w+ on \w+ /i.test(index)) {
      problems.push('A migration with -- @concurrently has nothing but "create index", without unique.');
    }
  }
  if (background) {
    const own = splitStatements(text.split(/^-- @background .*$/m)[1] ?? '');
    const bounds = /merchant_id = \$1\b[\s\S]*\bid > \$2\b[\s\S]*\bid <= \$3\b/;
    if (own.length !== 1 || !bounds.test(background.sql)) {
      problems.push(
        'After -- @background there is one statement, for merchant_id = $1 and id > $2 and id <= $3.',
      );
    }
  }
  if (kind === 'contract') return problems;
  const statements = splitStatements(sql).map((statement) => canonicalText(statement).toLowerCase());
  const created = new Set(statements.flatMap((one) => /^create table (\w+)/.exec(one)?.[1] ?? []));
  return [...problems, ...statements.flatMap((one) => expandProblem(one, created, engine) ?? [])];
}

function expandProblem(statement: string, created: ReadonlySet<string>, engine: Engine): string | undefined {
  if (/^create (virtual )?(table|view|function) /.test(statement)) return undefined;
  const [, table = ''] =
    /\bon (\w+)|^alter table (\w+)|^insert into (\w+)/.exec(statement)?.filter(Boolean) ?? [];
  if (created.has(table)) return undefined;
  if (/^create (unique )?index /.test(statement)) {
    return `An index on ${table}, which exists already, needs a migration of its own with -- @concurrently.`;
  }
  if (/^create trigger /.test(statement)) return `A trigger on ${table} changes what older programs write.`;
  if (/^alter table \w+ set \(/.test(statement) && engine === 'postgres') return undefined;
  if (/^alter table \w+ add column /.test(statement)) {
    if (/\b(references|check|unique|primary key|generated|collate)\b/.test(statement)) {
      return `The new column of ${table} must not have a check, a key or an expression: all rows would be read or written.`;
    }
    if (/ not null/.test(statement) && !/ default /.test(statement)) {
      return `The new column of ${table} must be nullable or have a default: older programs do not set it.`;
    }
    if (/ default (?!('[^']*'|- \d+|\d+( \d+)*|null)( |$))/.test(statement)) {
      return `The default of the new column of ${table} must be a constant.`;
    }
    return undefined;
  }
  return `Not in an expand migration: ${statement.slice(0, 60)}`;
}
