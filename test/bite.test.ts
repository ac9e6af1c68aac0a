import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, it } from 'node:test';
import { occurrences } from './bite/fault.ts';
import { PLANTED } from './bite/faults.ts';

/** Whether the tests notice them is shown by `npm run test:bite`; here only that they can still be planted. */
describe('the planted faults', () => {
  const root = new URL('..', import.meta.url);
  const textOf = (file: string) => readFileSync(new URL(file, root), 'utf8');

  for (const { name, file, find, replace, testFile } of PLANTED) {
    it(`${name}: it still fits into ${file}`, () => {
      assert.equal(occurrences(textOf(file), find), 1, `this must stand there once: ${find}`);
      assert.notEqual(find, replace);
      // What cannot be read as a program would turn any test red.
      if (file.endsWith('.ts'))
        assert.doesNotThrow(() => stripTypeScriptTypes(textOf(file).replace(find, () => replace)));
      assert.ok(existsSync(new URL(testFile, root)), testFile);
    });
  }

  it('are many, and each has a name of its own', () => {
    assert.ok(PLANTED.length >= 24);
    assert.equal(new Set(PLANTED.map(({ name }) => name)).size, PLANTED.length);
  });
});
