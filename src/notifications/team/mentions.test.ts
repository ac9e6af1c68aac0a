import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findMentions } from './mentions.ts';

const PEOPLE = [
  { id: 1, name: 'Alma Reyes' },
  { id: 2, name: 'Téo Vidal' },
  { id: 3, name: 'Alma María Soto' },
  { id: 4, name: 'منى' },
];

describe('a text mentions', () => {
  const cases: [text: string, ids: number[]][] = [
    ['@Alma Reyes, is it back?', [1]],
    ['@alma reyes and @TEO', [1, 2]],
    ['@Téo: see above', [2]],
    ['Ask @Alma', []],
    ['@Alma Maria Soto knows', [3]],
    ['@منى', [4]],
    ['write to me@teo.example', []],
    ['@Nobody @ @@', []],
    ['(@teo)', [2]],
    ['@teo @teo', [2]],
    ['@teodora', []],
  ];
  for (const [text, ids] of cases) {
    it(`${ids.length === 0 ? 'nobody' : ids.join(' and ')} in “${text}”`, () =>
      assert.deepEqual(findMentions(text, PEOPLE), ids));
  }

  it('at most fifty names in a text that is full of them', () => {
    const people = Array.from({ length: 100 }, (_, n) => ({ id: n + 1, name: `p${n + 1}` }));
    assert.equal(findMentions(people.map(({ name }) => `@${name}`).join(' '), people).length, 50);
  });
});
