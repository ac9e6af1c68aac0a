import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { without } from './find.ts';
import type { Mode } from './fold.ts';
import { knowing, lookupOf, NOBODY, type Person } from './person.ts';

const noPause = async () => undefined;
async function redact(text: string, mode: Mode, person: Partial<Person>): Promise<string> {
  return without(text, await lookupOf({ ...NOBODY, ...person }, mode, noPause));
}

describe('a text without a person', () => {
  for (const [name, before, after] of [
    ['Ella Brin', 'Ask Ella  Brin, Ella\u00a0Brin or Ella\nBrin.', 'Ask …, … or ….'],
    ['Ella Brin', 'Brin, Ella and Brin Ella', '… and …'],
    ['Ella Brin', 'Gella Brin and Ella Brinley stay', 'Gella Brin and Ella Brinley stay'],
    ['Ella Brin', 'ella brin and ELLA BRIN are written differently', undefined],
    ['Ana-María  Ruiz', 'Ana María Ruiz, Ana‑Mari\u0301a Ruiz', '…, …'],
    ['Sean O’Brien', "For Sean O'Brien's box", "For …'s box"],
    ['Jo Li', 'For Jo Li only', 'For … only'],
    ['王小明', '请问王小明先生和王 小明在吗', '请问…先生和…在吗'],
    ['王明', '王明在吗', undefined],
    ['สมชาย ใจดี', 'ถามสมชาย ใจดีก่อน', 'ถาม…ก่อน'],
    ['محمد علي', 'اسأل محمد  علي أولا، وقل لمحمد علي', 'اسأل … أولا، وقل ل…'],
    // A word, or a phrase without capital letters, is not a person.
    ...['Zara', 'to the', 'return', 'J. Smith', 'An', '+34 699'].map(
      (name) => [name, `${name} is sent to the shop: ${name}`, undefined] as const,
    ),
  ] as const) {
    it(`has no ${name}: ${JSON.stringify(before)}`, async () => {
      assert.equal(await redact(before, 'as written', { names: [name] }), after ?? before);
    });
  }

  for (const [name, before, after] of [
    ['Ella Brin', 'Dear Ella, Mrs BRIN called. ella brin', 'Dear …, Mrs … called. …'],
    ['Jo Li', 'Dear Jo, a joke for Mr Li.', 'Dear …, a joke for Mr ….'],
    ['An', 'An asked for an order. AN!', '… asked for an order. …!'],
    ['María Núñez', 'Dear Maria, dear NUNEZ', 'Dear …, dear …'],
    ['Piet van Dam', 'A van for Piet.', 'A van for ….'],
    ['Sean O’Brien', "Mr O'Brien's box", "Mr O'…'s box"],
    ['王小明', '小明你好', '…你好'],
    ['محمد علي', 'قل لمحمد ومحمد', 'قل ل… و…'],
    ['Ｅｌｌａ', 'Dear Ella', 'Dear …'],
    ['김철수', '김철수는 왔어요', '…는 왔어요'],
  ] as const) {
    it(`that was written for ${name} has no part of the name: ${before}`, async () => {
      assert.equal(await redact(before, 'closely', { names: [name] }), after);
    });
  }

  for (const written of [
    '+34 699 123 987',
    '699\u00a012\u202f39\u200987',
    '699–123–987',
    '699‑12‑39‑87',
    '(+34) 699.12.39.87',
    '(699) 12-39-87',
    '0034/699/123987',
    '٦٩٩١٢٣٩٨٧',
    '+٣٤ ٦٩٩ ١٢٣ ٩٨٧',
    '۶۹۹ ۱۲۳ ۹۸۷',
    '６９９１２３９８７',
  ]) {
    it(`has no number, written as ${JSON.stringify(written)}`, async () => {
      const text = await redact(`Call ${written}!`, 'as written', { phones: ['+34699123987'] });
      assert.equal(text, 'Call …!');
    });
  }

  it('finds a number that was entered with other digits, and beside other numbers', async () => {
    const phones = ['٦٩٩١٢٣٩٨٧'];
    assert.equal(await redact('Call 699 123 987!', 'as written', { phones }), 'Call …!');
    assert.equal(await redact('Room 5 699 123 987, 10:00', 'as written', { phones }), 'Room 5 …, 10:00');
    const british = { phones: ['+442079460018'] };
    assert.equal(await redact('+44 (0)20 7946 0018', 'as written', british), '…');
  });

  for (const [phone, text] of [
    ['699123987', 'Order 1699123987 and 6991239870'],
    ['+442024', 'Since 2024, +44 2024 or 442024 pieces'],
    ['1.000', 'It costs 1.000 or 1000'],
    ['2026-11-17', 'On 17.11.2026 and 2026'],
    ['9'.repeat(60_000), `Number ${'9'.repeat(60_000)}`],
    ['1'.repeat(16), `Number ${'1'.repeat(16)}`],
  ] as const)
    it(`keeps other numbers: ${text.slice(0, 40)}`, async () => {
      assert.equal(await redact(text, 'as written', { phones: [phone] }), text);
    });

  it('takes as long with many names and numbers as with one', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => n);
    const person = knowing(NOBODY, {
      phones: many.map((n) => `+3461${1_000_000 + n}`),
      names: many.map((n) => `The The${n.toString(36)}`),
    });
    // What is kept is limited.
    assert.ok(person.phones.length < 10_000 && person.names.length < 10_000);
    const lookup = await lookupOf(person, 'closely', noPause);
    const text = 'the 12 34 (a '.repeat(1500);
    const lookups = { count: 0 };
    for (const map of [lookup.names, lookup.numbers, lookup.unspaced]) {
      const get = map.get.bind(map);
      map.get = (key) => {
        lookups.count += 1;
        return get(key);
      };
    }
    without(text, lookup);
    assert.ok(lookups.count < 2 * text.length, `${lookups.count} lookups`);
  });
});
