import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NOBODY, type Person, redactionOf } from './person.ts';

const of = (person: Partial<Person>) => redactionOf({ ...NOBODY, ...person });

describe('a text without a person', () => {
  for (const [name, before, after] of [
    ['Ella Brin', 'Ask Ella  Brin, ella\u00a0brin or ELLA\nBRIN.', 'Ask …, … or ….'],
    ['Ella Brin', 'Brin, Ella and Brin Ella', '… and …'],
    ['Ella Brin', 'Gella Brin and Ella Brinley stay', 'Gella Brin and Ella Brinley stay'],
    ['Ana-María  Ruiz', 'Ana María Ruiz, Ana‑Mari\u0301a Ruiz', '…, …'],
    ['Jo Li', 'For Jo Li only', 'For … only'],
    ['王小明', '请问王小明先生和王 小明在吗', '请问…先生和…在吗'],
    ['สมชาย ใจดี', 'ถามสมชาย ใจดีก่อน', 'ถาม…ก่อน'],
    ['محمد علي', 'اسأل محمد  علي أولا', 'اسأل … أولا'],
    ['Zara', 'Zara and ZARA, but not zaragoza or Zaragoza', '… and …, but not zaragoza or Zaragoza'],
    ['zara', 'Ask Zara.', 'Ask ….'],
    ['Li', 'Li and Limited', 'Li and Limited'],
  ] as const) {
    it(`has no ${name}: ${JSON.stringify(before)}`, () => {
      assert.equal(of({ names: [name] }).everywhere(before), after);
    });
  }

  for (const [name, before, after] of [
    ['Ella Brin', 'Dear Ella, Mrs Brin called.', 'Dear …, Mrs … called.'],
    ['Jo Li', 'Dear Jo, a joke for Mr Li.', 'Dear …, a joke for Mr ….'],
    ['Bo', 'Bo asked. A box.', '… asked. A box.'],
    ['Piet van Dam', 'A van for Piet.', 'A van for ….'],
    ['王小明', '小明你好', '…你好'],
  ] as const) {
    it(`that was written for ${name} has no part of the name: ${before}`, () => {
      assert.equal(of({ names: [name] }).closely(before), after);
    });
  }

  it('keeps a name of one word that is an ordinary word of the merchant, unless it was written for the person', () => {
    const { everywhere, closely } = redactionOf({ ...NOBODY, names: ['Rose'] }, new Set(['Rose']));
    assert.equal(everywhere('Rose petals'), 'Rose petals');
    assert.equal(closely('Dear Rose'), 'Dear …');
  });

  for (const written of [
    '+34 699 123 987',
    '699\u00a012\u202f39\u200987',
    '699–123–987',
    '699‑12‑39‑87',
    '(+34) 699.12.39.87',
    '0034/699/123987',
    '٦٩٩١٢٣٩٨٧',
    '+٣٤ ٦٩٩ ١٢٣ ٩٨٧',
    '۶۹۹ ۱۲۳ ۹۸۷',
    '６９９１２３９８７',
    '\u2066+34 699 123 987\u2069',
  ]) {
    it(`has no number, written as ${JSON.stringify(written)}`, () => {
      const text = of({ phones: ['+34699123987'] }).certainly(`Call ${written}!`);
      assert.match(text, /^Call [(\u2066]?…\u2069?!$/);
    });
  }

  it('finds a number that was entered with other digits', () => {
    assert.equal(of({ phones: ['٦٩٩١٢٣٩٨٧'] }).certainly('Call 699 123 987!'), 'Call …!');
  });

  it('keeps longer numbers', () => {
    const text = 'Order 1699123987 and 6991239870';
    assert.equal(of({ phones: ['699123987'] }).certainly(text), text);
  });
});
