import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { root } from '../support/process.ts';

/** The tables of docs/security.md: each row has evidence, and the evidence exists. */
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| \d+\.\d/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

describe('the evidence in docs/security.md', () => {
  it('is given for every requirement that is met, and a reason for every other one', () => {
    assert.ok(rows.length > 100, String(rows.length));
    for (const [id, requirement, status, evidence] of rows) {
      assert.ok(['met', 'open', 'not applicable'].includes(status!), `${id} ${requirement}: ${status}`);
      assert.ok(evidence && evidence.length > 10, `${id} ${requirement} has no evidence`);
    }
  });

  it('names requirements only once', () => {
    const ids = rows.flatMap(([id]) => id!.split(', '));
    assert.equal(new Set(ids).size, ids.length);
  });

  it('names only files that exist', () => {
    const files = [...page.matchAll(/`((?:test|src|dashboard|scripts)\/[\w./-]+)`/g)].map(
      ([, file]) => file!,
    );
    assert.deepEqual(
      files.filter((file) => !existsSync(join(root, file))),
      [],
    );
  });

  it('names only tests that exist', () => {
    const quoted = [...page.matchAll(/`(test\/[\w./-]+\.test\.ts)` "([^"]+)"/g)];
    assert.ok(quoted.length > 60, String(quoted.length));
    const missing = quoted.filter(([, file, title]) => !hasTest(file!, title!));
    assert.deepEqual(
      missing.map(([whole]) => whole),
      [],
    );
  });
});

/** `…` stands for a part of the title that differs from case to case. */
function hasTest(file: string, title: string): boolean {
  const pattern = title
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.{1,60}?');
  return new RegExp(`(?:it|test)\\(\\s*['"\`]${pattern}['"\`]`).test(readFileSync(join(root, file), 'utf8'));
}
