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
const LAST_WITHOUT_RULES = 35;
const FIRST_VERSION = '0.2.0';

const NEWEST = compareVersions(VERSION, '0.2.0') < 0 ? '0.2.0' : VERSION;

const NONE = /^$/;
const ADD = 'alter table merchants add column a text';
const EXPAND: readonly [sql: string, problem: RegExp][] = [
  [
    `create table cats (id bigint primary key, merchant_id bigint references merchants (id));
      create unique index cats_merchant on cats (merchant_id); insert into cats (id) values (1);`,
    NONE,
  ],
  [`${ADD}; ${ADD} default 'x'; alter table merchants add column b integer not null default 0;`, NONE],
  [
    `-- @background notifications
      update notifications set a = 'x' where merchant_id = $1 and id > $2 and id <= $3;`,
    NONE,
  ],
  ['create index a on notifications (status);', /-- @concurrently/],
  ['-- @concurrently\ncreate unique index a on notifications (status);', /without unique/],
  [`${ADD} not null;`, /nullable or have a default/],
  [`${ADD} generated always as ('x') stored;`, /read or written/],
  ['drop table merchants;', /Not in an expand migration/],
  [`update merchants set name = 'x';`, /Not in an expand/],
  ['create trigger a after insert on merchants begin select 1; end;', /A trigger on merchants/],
  [`-- @background notifications\nupdate notifications set a = 'x';`, /merchant_id = \$1/],
];

describe('the rules for migrations', () => {
  const files = readdirSync(MIGRATIONS).filter((file) => Number(file.slice(0, 4)) > LAST_WITHOUT_RULES);
  const textOf = (file: string) => readFileSync(new URL(file, MIGRATIONS), 'utf8');

  it('are kept by every one', () => {
    for (const file of files) assert.deepEqual(problemsOf(file, textOf(file), NEWEST), [], file);
  });

  it('never support an older program again that an earlier migration has given up', () => {
    const supported = files.toSorted().map((file) => parseMigration(file, textOf(file), 'sqlite').supports!);
    assert.deepEqual(supported, supported.toSorted(compareVersions));
  });

  it('allow what old programs do not notice, and refuse everything else', () => {
    for (const [sql, problem] of EXPAND) {
      const found = problemsOf('0099_x.sql', `-- @expand 0.2.0\n${sql}`, '0.2.0').join('\n');
      assert.match(found, problem, sql);
    }
    for (const [sql, problem] of [
      ['create table cats (id bigint);', /must say -- @expand or -- @contract/],
      ['-- @contract 0.3.0\ndrop table cats;', /0\.3\.0 is not one of them/],
      ['-- @expand 0.1.0\ncreate table cats (id bigint);', /0\.1\.0 is not/],
    ] as const)
      assert.match(problemsOf('0099_x.sql', sql, '0.2.0').join('\n'), problem, sql);
  });
});

describe('the migrations', () => {
  const names = readdirSync(MIGRATIONS).sort();

  it('are numbered without gaps', () => {
    assert.ok(names.length > 0);
    for (const [index, name] of names.entries()) {
      assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z\\d_]+\\.sql$`));
    }
  });

  it('have complete statements for each engine, and do not begin or end a transaction', () => {
    for (const name of names) {
      const text = readFileSync(new URL(name, MIGRATIONS), 'utf8');
      const markers = [...text.matchAll(/^\s*-- @(.*)$/gm)].map(([, marker]) => marker!.trim());
      // A misspelled one would have no effect: its lines would be for both engines.
      const known = /^(sqlite|postgres|both|concurrently|(expand|contract) \d+\.\d+\.\d+|background \w+)$/;
      for (const marker of markers) assert.match(marker, known, name);
      const sections = markers.filter((marker) => ['sqlite', 'postgres', 'both'].includes(marker));
      assert.equal(sections.at(-1) ?? 'both', 'both', `${name}: the rest would be for one engine only`);
      for (const engine of ['sqlite', 'postgres'] as const) {
        const sql = forEngine(text, engine).replace(/--.*$/gm, '').trim();
        assert.match(sql, /^$|;$/, name);
        assert.doesNotMatch(sql, /^\s*(begin|commit|rollback|end transaction)\s*;/im, name);
      }
    }
  });
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
