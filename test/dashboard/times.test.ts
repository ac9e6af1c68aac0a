import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { duration, relative } from '../../dashboard/src/i18n/times.ts';

/** Tuesday, 17 November 2026, in the time zone of the machine. */
const NOW = new Date(2026, 10, 17, 16, 30).getTime();
const at = (...date: [year: number, month: number, day: number, hour: number, minute: number]) =>
  new Date(...date).toISOString();

const JUST_NOW = new Date(NOW - 20_000).toISOString();
const TODAY = at(2026, 10, 17, 13, 30);
const YESTERDAY = at(2026, 10, 16, 15, 10);
const SUNDAY = at(2026, 10, 15, 9, 2);
const WEEKS_AGO = at(2026, 9, 3, 9, 2);
const LAST_YEAR = at(2025, 9, 3, 9, 2);
const SOON = at(2026, 10, 17, 18, 30);

/** The space between the parts of a time may be one that does not break. */
const say = (language: 'en' | 'es' | 'pt' | 'ar', time: string, now = NOW, hours: 'h12' | 'h23' = 'h23') =>
  relative(language, time, now, hours).replaceAll(/[\u202f\u00a0]/g, ' ');

describe('times', () => {
  it('are as people say them in English', () => {
    assert.equal(say('en', JUST_NOW), 'now');
    assert.equal(say('en', TODAY), '3 hr. ago');
    assert.equal(say('en', YESTERDAY), 'yesterday, 15:10');
    assert.equal(say('en', SUNDAY), 'Sunday, 09:02');
    assert.equal(say('en', WEEKS_AGO), 'Oct 3, 09:02');
    assert.equal(say('en', LAST_YEAR), 'Oct 3, 2025');
    assert.equal(say('en', SOON), 'in 2 hr.');
  });

  it('are as people say them in Spanish, Portuguese and Arabic', () => {
    assert.equal(say('es', YESTERDAY), 'ayer, 15:10');
    assert.equal(say('es', SUNDAY), 'el domingo, 09:02');
    assert.equal(say('pt', YESTERDAY), 'ontem, 15:10');
    assert.equal(say('pt', SUNDAY), 'domingo, 09:02');
    assert.match(say('ar', YESTERDAY), /^أمس، (15:10|١٥:١٠)$/);
    assert.match(say('ar', SUNDAY), /^يوم الأحد، (09:02|٠٩:٠٢)$/);
  });

  it('have the hours of the region', () => {
    assert.equal(say('en', YESTERDAY, NOW, 'h12'), 'yesterday, 3:10 PM');
  });

  it('count calendar days, not hours, but stay in minutes shortly after midnight', () => {
    const midnight = new Date(2026, 10, 17, 0, 30).getTime();
    assert.equal(say('en', at(2026, 10, 16, 23, 50), midnight), '40 min. ago');
    assert.equal(say('en', at(2026, 10, 16, 22, 50), midnight), 'yesterday, 22:50');
    assert.equal(say('en', at(2026, 10, 11, 0, 1)), 'Wednesday, 00:01');
    // A week ago it was Tuesday too.
    assert.equal(say('en', at(2026, 10, 10, 23, 59)), 'Nov 10, 23:59');
  });

  it('that have passed or are left are short', () => {
    assert.equal(duration('en', 20), '< 1 min');
    assert.equal(duration('en', 47 * 60), '47 min');
  });
});
