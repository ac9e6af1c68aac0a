import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calibrate, mixScore, mixScores } from './mix.ts';
import { toStored } from './vectors.ts';

/** A vector with this cosine to the question, which is [1, 0]. */
const at = (cosine: number) => toStored([cosine, Math.sqrt(1 - cosine * cosine)]);
const question = (unrelated: number) => ({
  vector: at(1),
  background: Array.from({ length: 12 }, (_, n) => at(unrelated + (n - 6) / 200)),
});

describe('a score by meaning', () => {
  for (const [model, unrelated, related] of [
    ['e5', 0.75, 0.9],
    ['OpenAI', 0.1, 0.6],
  ] as const) {
    it(`is 0 for unrelated texts and high for related ones, with a model like ${model}`, () => {
      const cosines = new Map([
        [1, related],
        [2, unrelated + 0.02],
        [3, unrelated - 0.1],
        [4, 1],
      ]);
      const scores = calibrate(cosines, question(unrelated));
      assert.ok(scores.get(1)! > 0.5 && scores.get(1)! < 1, String(scores.get(1)));
      assert.deepEqual([scores.get(2), scores.get(3), scores.get(4)], [undefined, undefined, 1]);
    });
  }

  it('of a merchant’s only document counts', () => {
    assert.ok(calibrate(new Map([[1, 0.9]]), question(0.75)).get(1)! > 0.5);
  });

  it('is relative to the merchant’s other documents, if there are many', () => {
    const shop = new Map(Array.from({ length: 100 }, (_, n) => [n, 0.4 + n / 1000]));
    shop.set(200, 0.8);
    const scores = calibrate(shop, question(0.1));
    assert.deepEqual([...scores.keys()], [200]);
  });
});

describe('a mixed score', () => {
  it('is the score by words without meaning, never lower, and at most 1', () => {
    for (const words of [0, 0.3, 1]) {
      assert.equal(mixScore(words, 0), words);
      for (const meaning of [0.2, 0.7, 1]) {
        const mixed = mixScore(words, meaning);
        assert.ok(mixed >= words && mixed <= 1);
      }
    }
  });

  it('of meaning alone is below what is answered without a person', () => {
    assert.ok(mixScore(0, 1) < 0.9);
  });

  it('exists for each document with either', () => {
    const mixed = mixScores(new Map([[1, 0.5]]), new Map([[2, 0.5]]));
    assert.deepEqual([...mixed.keys()], [1, 2]);
  });
});
