import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { getCountries, getExampleNumber } from 'libphonenumber-js/min';
import examples from 'libphonenumber-js/mobile/examples';
import { anyCharacter } from '../../test/support/anyCharacter.ts';
import { type CountryCode, isCountry, parsePhone } from './phone.ts';

const phoneOf = (text: string, country?: CountryCode) => {
  const parsed = parsePhone(text, country);
  assert.ok('phone' in parsed, JSON.stringify(parsed));
  return parsed.phone;
};
const problemOf = (text: string, country?: CountryCode) => {
  const parsed = parsePhone(text, country);
  assert.ok('problem' in parsed, JSON.stringify(parsed));
  return parsed.problem;
};

describe('a phone number', () => {
  const NATIONAL: [string, CountryCode, string][] = [
    ['(415) 555-2671', 'US', '+14155552671'],
    ['1 415 555 2671', 'US', '+14155552671'],
    ['611 55 01 01', 'ES', '+34611550101'],
    ['34611550101', 'ES', '+34611550101'],
    ['020 7946 0000', 'GB', '+442079460000'],
    ['06 1234 5678', 'IT', '+390612345678'],
    ['٠٥٠ ٥٥٥ ٠١٠٣', 'AE', '+971505550103'],
    ['۰۹۱۲۳۴۵۶۷۸۹', 'IR', '+989123456789'],
    ['６１１５５０１０１', 'ES', '+34611550101'],
    ['011 34 611 55 01 01', 'US', '+34611550101'],
    ['55 1234 5678', 'MX', '+525512345678'],
  ];
  for (const [text, country, phone] of NATIONAL) {
    it(`${text} in ${country} is ${phone}`, () => assert.equal(phoneOf(text, country), phone));
  }

  const INTERNATIONAL = [
    '+34611550101',
    '+34 611 55 01 01',
    '  +34-611-55-01-01\t',
    '+34.611.55.01.01',
    '(+34) 611 55 01 01',
    '＋34 611550101',
    '0034 611 55 01 01',
    '(0034) 611550101',
    '٠٠٣٤٦١١٥٥٠١٠١',
    '+٣٤ ٦١١ ٥٥ ٠١ ٠١',
    '\u202a+34 611 55 01 01\u202c',
    '+34\u00a0611\u200b55\u00a001\u00a001',
  ];
  for (const text of INTERNATIONAL) {
    it(`${JSON.stringify(text)} is the same number in every country`, () => {
      for (const country of [undefined, 'US', 'CH', 'AU', 'ES'] as const)
        assert.equal(phoneOf(text, country), '+34611550101');
    });
  }

  it('leaves out a trunk zero and the 1 of old Mexican mobile numbers', () => {
    assert.equal(phoneOf('+44 (0)20 7946 0000'), '+442079460000');
    assert.equal(phoneOf('+5215512345678'), '+525512345678');
    assert.equal(phoneOf('+5491123456789'), '+5491123456789');
  });

  it('without + or 00 needs a country', () => {
    for (const text of ['(415) 555-2671', '611 55 01 01', '34611550101'])
      assert.match(problemOf(text), /has no country code/);
    assert.match(problemOf('611 55 01 01', 'XX' as CountryCode), /has no country code/);
    assert.match(problemOf('611 55 01 01', '__proto__' as CountryCode), /has no country code/);
  });

  const PROBLEMS: [string, CountryCode | undefined, RegExp][] = [
    ['+4155552671', undefined, /too few digits/],
    ['555-2671', 'US', /too few digits/],
    ['112', 'ES', /too few digits/],
    ['+34 611 55 01 01 2', undefined, /too many digits/],
    ['+1 (415) 555-2671/2672', undefined, /too many digits/],
    ['+49 1234567890123456', undefined, /too many digits/],
    ['+49 12345678901234', undefined, /too many digits/],
    ['+999 123 4567', undefined, /does not start with the code of a country/],
    ['+0034611550101', 'ES', /does not start with the code of a country/],
    ['415 555 2671 ext. 5', 'US', /extension/],
    ['', 'ES', /is not a phone number/],
    ['+', 'ES', /is not a phone number/],
    ['   ', 'ES', /is not a phone number/],
    ['lucia@shop.example', undefined, /is not a phone number/],
    ['call +34611550101', 'ES', /is not a phone number/],
    ['+34611550101 (Lucía)', 'ES', /is not a phone number/],
    ['1-800-FLOWERS', 'US', /is not a phone number/],
    ['++34611550101', 'ES', /is not a phone number/],
    ['tel:611550101;phone-context=+34', 'US', /is not a phone number/],
    [`+34611550101${' '.repeat(60)}`, 'ES', /is longer than 64 characters/],
  ];
  for (const [text, country, problem] of PROBLEMS) {
    it(`is refused: ${JSON.stringify(text.slice(0, 32))}`, () =>
      assert.match(problemOf(text, country), problem));
  }

  it('is read in the national format of every country', () => {
    for (const country of getCountries()) {
      const example = getExampleNumber(country, examples);
      if (!example) continue;
      assert.equal(phoneOf(example.formatNational(), country), example.number, country);
      assert.equal(phoneOf(example.formatInternational()), example.number, country);
    }
  });
});

describe('a country', () => {
  it('is two capital letters from the numbering plans', () => {
    for (const text of ['ES', 'US', 'AE', 'IS']) assert.ok(isCountry(text), text);
    for (const text of ['', 'es', 'ESP', 'XX', 'UK', '34', '__proto__', 'constructor'])
      assert.ok(!isCountry(text), text);
  });
});

describe('any text as a phone number', () => {
  const country = fc.option(fc.constantFrom(...getCountries()), { nil: undefined });
  const numberLike = fc
    .tuple(
      fc.constantFrom('', '+', '00', '0', '(', '+52 1 ', '+7 8', '+49', '+1', '+39 0', '+54 9 '),
      fc.string({ unit: fc.constantFrom(...'0123456789٠١٢ -().') as fc.Arbitrary<string>, maxLength: 24 }),
    )
    .map((parts) => parts.join(''));
  const anything = fc.oneof(
    { arbitrary: numberLike, weight: 3 },
    fc.string({ unit: anyCharacter, maxLength: 80 }),
    fc.string({ maxLength: 80 }),
  );

  it('gives + and digits, stable if read again, or an error that does not repeat its digits', () => {
    let numbers = 0;
    fc.assert(
      fc.property(anything, country, country, (text, own, other) => {
        const parsed = parsePhone(text, own);
        if ('problem' in parsed) {
          assert.doesNotMatch(parsed.problem.replace('64 characters', ''), /\d/);
          return;
        }
        numbers += 1;
        assert.match(parsed.phone, /^\+[1-9]\d{3,14}$/);
        assert.deepEqual(parsePhone(parsed.phone, other), parsed);
      }),
      { numRuns: 5000 },
    );
    assert.ok(numbers > 100, `${numbers} numbers`);
  });
});
