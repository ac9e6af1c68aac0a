import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, it } from 'node:test';
import { MUTATIONS } from '../release/mutations/all.ts';
import { occurrences } from '../release/mutations/mutation.ts';

/** `npm run test:mutations` shows that the tests catch them. This only shows that they can still be planted. */
describe('the mutations', () => {
  const root = new URL('../..', import.meta.url);
  const textOf = (file: string) => readFileSync(new URL(file, root), 'utf8');

  for (const { name, file, find, replace, testFile } of MUTATIONS) {
    it(`${name}: can be planted in ${file}`, () => {
      assert.equal(occurrences(textOf(file), find), 1, `this text must occur exactly once: ${find}`);
      assert.notEqual(find, replace);
      // A syntax error would make any test fail, and would prove nothing.
      if (file.endsWith('.ts'))
        assert.doesNotThrow(() => stripTypeScriptTypes(textOf(file).replace(find, () => replace)));
      assert.ok(existsSync(new URL(testFile, root)), testFile);
    });
  }

  it('are at least 24, each with a unique name', () => {
    assert.ok(MUTATIONS.length >= 24);
    assert.equal(new Set(MUTATIONS.map(({ name }) => name)).size, MUTATIONS.length);
  });
});
