import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COUNTRIES, namedCountries } from '../../dashboard/src/settings/parts/countries.ts';
import { loadPhoneNumbers } from '../../src/delivery/phone.ts';

describe('the countries in the settings', () => {
  it('are those that the server accepts', () => {
    assert.deepEqual(new Set(COUNTRIES), loadPhoneNumbers().countries);
    assert.equal(new Set(COUNTRIES).size, COUNTRIES.length);
  });

  it('have their names in every language, in its order', () => {
    for (const [language, name, first] of [
      ['en', 'Spain', 'Afghanistan'],
      ['es', 'España', 'Afganistán'],
      ['pt', 'Espanha', 'Afeganistão'],
      ['ar', 'إسبانيا', 'آيسلندا'],
    ] as const) {
      const countries = namedCountries(language);
      assert.equal(countries.find(({ value }) => value === 'ES')!.label, name);
      assert.equal(countries[0]!.label, first);
      for (const { value, label } of countries) assert.notEqual(label, value);
    }
  });
});
