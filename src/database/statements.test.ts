import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalText, splitStatements } from './statements.ts';

describe('splitting a script into statements', () => {
  const cases: Record<string, [script: string, statements: string[]]> = {
    'ends a statement at each semicolon, which the last one may omit': [
      'create table a (x text);\ninsert into a values (1);; \n select 2',
      ['create table a (x text)', 'insert into a values (1)', 'select 2'],
    ],
    'does not split inside quotes': [
      `insert into a values ('it''s; -- one'); update "a;b" set \`c;\` = E'\\';' ; select 1`,
      [`insert into a values ('it''s; -- one')`, `update "a;b" set \`c;\` = E'\\';'`, 'select 1'],
    ],
    'ignores semicolons and quotes in comments': [
      `-- don't; stop\nselect 1; /* "it's; */ select 2;\n-- the end;`,
      [`-- don't; stop\nselect 1`, `/* "it's; */ select 2`],
    ],
    'does not split a dollar-quoted body, and does not treat $1 as a quote': [
      'create function f() returns trigger as $$ begin x; end $$ language plpgsql; select $1, $2; do $a$ $$; $a$;',
      [
        'create function f() returns trigger as $$ begin x; end $$ language plpgsql',
        'select $1, $2',
        'do $a$ $$; $a$',
      ],
    ],
    'does not split the body of an SQLite trigger, with a case inside': [
      `create trigger t after update on a when new.x <> 'end' begin
        update b set y = case when new.x then 1 else 2 end;
        delete from c;
      END;
      select 1;`,
      [
        `create trigger t after update on a when new.x <> 'end' begin
        update b set y = case when new.x then 1 else 2 end;
        delete from c;
      END`,
        'select 1',
      ],
    ],
    'treats a PostgreSQL trigger, which has no body, as one statement': [
      'create trigger t after insert on a for each row execute function f(); select 1;',
      ['create trigger t after insert on a for each row execute function f()', 'select 1'],
    ],
  };
  for (const [title, [script, statements]] of Object.entries(cases)) {
    it(title, () => assert.deepEqual(splitStatements(script), statements));
  }
});

describe('the canonical text of a statement', () => {
  const plain = `create table a (x text default '--  b')`;

  it('does not change with comments and white space', () => {
    for (const text of [
      `create table a (\n  -- why\n  x text default '--  b'\n)`,
      `/* why */ create  table a (/* what */x text\tdefault '--  b' ) -- done`,
    ]) {
      assert.equal(canonicalText(text), canonicalText(plain));
    }
  });

  it('changes with everything else', () => {
    for (const text of [plain.replace('--  b', '-- b'), plain.replace('x', 'y'), plain.replace('text', '')]) {
      assert.notEqual(canonicalText(text), canonicalText(plain));
    }
  });
});
