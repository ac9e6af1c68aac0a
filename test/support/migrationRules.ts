import type { Engine } from '../../src/database/database.ts';
import { canonicalText, splitStatements } from '../../src/database/statements.ts';
import { parseMigration } from '../../src/database/upgrade/files.ts';
import { compareVersions } from '../../src/database/upgrade/versions.ts';

/**
 * The rules for migrations: see "Migrations" in CONTRIBUTING.md. Those up to this one belong to version 0.2, the first
 * that keeps the rules.
 */
export const LAST_WITHOUT_RULES = 33;
const FIRST_VERSION = '0.2.0';

/** What breaks the rules in a migration, in words for its author. `newest` is the newest version that exists. */
export function problemsOf(file: string, text: string, newest: string): string[] {
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
