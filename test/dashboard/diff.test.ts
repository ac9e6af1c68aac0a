import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DiffPart, diffOf, withoutDistant } from '../../dashboard/src/knowledge/diff.ts';

const shown = (before: string, after: string) =>
  diffOf(before, after)
    .map(({ kind, text }) => (kind === 'same' ? text : kind === 'removed' ? `[-${text}-]` : `{+${text}+}`))
    .join('');
const joined = (parts: readonly DiffPart[], kind: DiffPart['kind']) =>
  parts
    .filter((part) => part.kind === 'same' || part.kind === kind)
    .map(({ text }) => text)
    .join('');
const withoutSpaces = (text: string) => text.replace(/\s+/g, '');

test('a changed word is shown where it is, and the rest as unchanged', () => {
  assert.equal(
    shown('Parcels take two days in Spain.', 'Parcels take three days in Spain.'),
    'Parcels take [-two -]{+three +}days in Spain.',
  );
  assert.equal(shown('We are closed.', 'We are closed on Sundays.'), 'We are closed {+on Sundays+}.');
  assert.equal(shown('نشحن يوم الاثنين.', 'نشحن يوم الخميس.'), 'نشحن يوم [-الاثنين-]{+الخميس+}.');
});

test('a comma that stayed between two changes does not cut them into pieces', () => {
  assert.equal(shown('red, green', 'blue, yellow'), '[-red, green-]{+blue, yellow+}');
});

test('a new text is all added, an empty one all removed, and the same text is unchanged', () => {
  assert.deepEqual(diffOf('', 'Open.'), [{ kind: 'added', text: 'Open.' }]);
  assert.deepEqual(diffOf('Open.', ''), [{ kind: 'removed', text: 'Open.' }]);
  assert.deepEqual(diffOf('Open.', 'Open.'), [{ kind: 'same', text: 'Open.' }]);
});

test('whatever the texts are, the unchanged and added parts are the new text and nothing of the old one is lost', () => {
  const texts = fc
    .array(fc.constantFrom('a ', 'b ', 'c', ', ', '. ', '\n', 'día ', '۳ ', '👋', '  '), { maxLength: 30 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const parts = diffOf(before, after);
      assert.equal(withoutSpaces(joined(parts, 'added')), withoutSpaces(after));
      assert.equal(withoutSpaces(joined(parts, 'removed')), withoutSpaces(before));
      assert.ok(parts.every(({ kind }, at) => kind !== parts[at - 1]?.kind));
    }),
  );
});

test('two long texts without a common word are compared in bounded work', () => {
  const words = (letter: string) => `${letter} `.repeat(10_000);
  assert.deepEqual(
    diffOf(words('x'), words('y')).map(({ kind }) => kind),
    ['removed', 'added'],
  );
  const sentences = (middle: string) =>
    `${'One two three four. '.repeat(600)}${middle} ${'a b. '.repeat(600)}`;
  const long = diffOf(sentences('Old here, one.'), sentences('New there, two.'));
  assert.deepEqual(
    long.map(({ kind }) => kind),
    ['same', 'removed', 'added', 'same'],
  );
});

test('unchanged text far from a change is left out', () => {
  const far = 'word '.repeat(200);
  const [first, , , last] = withoutDistant(diffOf(`${far}old ${far}`, `${far}new ${far}`));
  assert.ok(first!.text.startsWith('…') && first!.text.length < 200 && first!.text.endsWith('word '));
  assert.ok(last!.text.endsWith('…') && last!.text.length < 200);
});
