import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { featuresOf } from './features.ts';
import { type IndexedText, TextIndex } from './textIndex.ts';

const QUESTIONS = [
  'Do you ship to Portugal?',
  'How long does shipping take?',
  'Can I pause my subscription?',
  'Which grind for a French press?',
  'Is the decaf made with water?',
];

function indexOf(texts: Iterable<readonly [number, IndexedText]>): TextIndex {
  const index = new TextIndex();
  for (const [id, text] of texts) index.set(id, text);
  return index;
}
const titles = (texts: readonly string[]) =>
  indexOf(texts.map((text, at) => [at + 1, { wordings: [text] }] as const));

describe('an index of texts', () => {
  it('scores 1 for the same words, and 0 to 1 for others, best first', () => {
    const index = titles(QUESTIONS);
    for (const [at, question] of QUESTIONS.entries()) {
      const [best, ...others] = index.similar(`${question.toUpperCase()}!`, 0);
      assert.deepEqual(best, { id: at + 1, score: 1 });
      for (const { score } of others) assert.ok(score >= 0 && score < 1);
    }
  });

  it('finds a word with a typing mistake, another ending or another script', () => {
    const index = titles(QUESTIONS);
    const first = (question: string) => index.similar(question, 0)[0]?.id;
    assert.equal(first('pausing subscriptoins'), 3);
    assert.equal(first('shiping time'), 2);
    assert.equal(first('هل تشحنون إلى البرتغال بورتوغال؟'), 1);
  });

  it('finds nothing by stop words or signs alone', () => {
    const index = titles(QUESTIONS);
    for (const question of ['', '???', 'do you have it for the', '\0']) {
      assert.deepEqual(index.similar(question, 0), []);
    }
    assert.deepEqual(new TextIndex().similar('shipping', 0), []);
  });

  it('uses each wording, and prefers the answer that more wordings support', () => {
    const index = indexOf([
      [1, { wordings: ['Opening hours', 'When do you close on Friday?'] }],
      [2, { wordings: ['Delivery times', 'When do you deliver on Friday?', 'Which day do you deliver?'] }],
    ]);
    assert.equal(index.similar('When do you close on Friday?', 0)[0]?.score, 1);
    assert.equal(index.similar('On which day do you deliver?', 0)[0]?.id, 2);
    const alone = indexOf([
      [1, { wordings: ['Which day do you deliver?'] }],
      [2, { wordings: ['Opening hours'] }],
    ]);
    assert.ok(alone.similar('On which day?', 0)[0]!.score > 0);
  });

  it('counts the words of an answer less than those of a question', () => {
    const index = indexOf([
      [1, { wordings: ['Shipping'], bodyStems: ['parcel', 'portugal'] }],
      [2, { wordings: ['Parcels to Portugal'], bodyStems: [] }],
      [3, { wordings: ['Gift cards'], bodyStems: ['card'] }],
    ]);
    const found = index.similar('parcel Portugal', 0.1);
    assert.deepEqual(
      found.map(({ id }) => id),
      [2, 1],
    );
    assert.ok(found[1]!.score <= 0.41);
  });

  it('finds only the best of the texts with the same answer, or each if asked', () => {
    const index = indexOf([
      [1, { wordings: ['Do you ship to Spain?'], answer: 'Yes.' }],
      [2, { wordings: ['Do you ship to France?'], answer: 'Yes.' }],
      [3, { wordings: ['Do you ship to Mars?'], answer: 'No.' }],
    ]);
    const ids = (oncePerAnswer: boolean) =>
      index.similar('Do you ship to France?', 0, { oncePerAnswer }).map(({ id }) => id);
    assert.deepEqual(ids(true), [2, 3]);
    assert.deepEqual(ids(false).sort(), [1, 2, 3]);
    assert.equal(index.similar('Do you ship to France?', 0)[0]!.score, 1);
  });

  it('compares texts that are not in it by the same weights', () => {
    const index = titles(QUESTIONS);
    const [same, other, nothing] = index.compare(
      QUESTIONS[0]!,
      [QUESTIONS[0]!, QUESTIONS[1]!, '緑茶'].map(featuresOf),
    );
    assert.deepEqual([same, nothing], [1, 0]);
    assert.ok(other! > 0 && other! < 1);
  });

  it('is the same after any changes as a new index', () => {
    const word = fc.constantFrom(
      'ship',
      'shipping',
      'Portugal',
      'parcel',
      'decaf',
      'the',
      '2041',
      '緑茶',
      'قهوة',
    );
    const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));
    const entry = fc.record({
      wordings: fc.array(text, { minLength: 1, maxLength: 3 }),
      bodyStems: fc.array(word, { maxLength: 3 }),
      answer: fc.constantFrom('a', 'b', 'c'),
    });
    const change = fc.record({
      ...{ id: fc.integer({ min: 1, max: 6 }), entry: fc.option(entry), isAsked: fc.boolean() },
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), text, (changes, question) => {
        const changed = new TextIndex();
        const expected = new Map<number, IndexedText>();
        for (const { id, entry: next, isAsked } of changes) {
          if (next) changed.set(id, next);
          else changed.delete(id);
          if (next) expected.set(id, next);
          else expected.delete(id);
          // A question in between must not leave anything behind.
          if (isAsked) changed.similar(question, 0);
        }
        const fresh = indexOf(expected);
        assert.equal(changed.size, expected.size);
        assert.equal(changed.bytes, fresh.bytes);
        assert.deepEqual(
          changed.similar(question, 0, { oncePerAnswer: false }),
          fresh.similar(question, 0, { oncePerAnswer: false }),
        );
      }),
      { numRuns: 300 },
    );
  });
});

it('removes a text in a time that does not grow with the number of texts', () => {
  const long =
    'How do I return the item that I bought in your online store last week because it does not fit me';
  const index = new TextIndex();
  for (let id = 1; id <= 5000; id += 1) index.set(id, { wordings: [`${long} ${id}`] });
  const startedAt = performance.now();
  for (let id = 1; id <= 2500; id += 1) index.delete(id);
  const ms = performance.now() - startedAt;
  assert.ok(ms < 1500, `${ms} ms`);
  assert.equal(index.similar(`${long} 4000`, 0.9)[0]?.id, 4000);
});
