import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type OpeningHours, type Period, WEEKDAYS, type Weekday } from '../contract/merchant.ts';
import { opensAt } from './openingHours.ts';

const hours = (given: Partial<Record<Weekday, Period[]>>): OpeningHours =>
  Object.fromEntries(WEEKDAYS.map((day) => [day, given[day] ?? []])) as OpeningHours;
const WEEK = hours({
  friday: [
    { from: '09:00', to: '14:00' },
    { from: '16:30', to: '20:00' },
  ],
  saturday: [{ from: '22:00', to: '24:00' }],
  sunday: [{ from: '00:00', to: '03:30' }],
});
const MADRID = 'Europe/Madrid';

describe('a shop', () => {
  for (const [what, at, expected] of [
    ['is open', '2026-01-16T08:00:00Z', null],
    ['opens later today', '2026-01-16T07:59:59Z', '2026-01-16T08:00:00Z'],
    ['opens after lunch', '2026-01-16T13:00:00Z', '2026-01-16T15:30:00Z'],
    ['opens tomorrow', '2026-01-16T19:00:00Z', '2026-01-17T21:00:00Z'],
    ['is open past midnight', '2026-01-17T23:30:00Z', null],
    ['opens next week', '2026-01-18T02:30:00Z', '2026-01-23T08:00:00Z'],
    ['opens after the clocks have gone forward', '2026-03-29T01:30:00Z', '2026-04-03T07:00:00Z'],
    ['opens after the clocks have gone back', '2026-10-25T02:30:00Z', '2026-10-30T08:00:00Z'],
  ] as const)
    it(what, () => {
      assert.equal(
        opensAt(WEEK, MADRID, new Date(at))?.toISOString() ?? null,
        expected?.replace('Z', '.000Z') ?? null,
      );
    });

  it('that was open an hour ago, once a week, opens in a week', () => {
    const once = hours({ friday: [{ from: '09:00', to: '10:00' }] });
    assert.equal(
      opensAt(once, 'UTC', new Date('2026-01-16T10:00:00Z'))?.toISOString(),
      '2026-01-23T09:00:00.000Z',
    );
  });

  for (const [what, timeZone, from, at, expected] of [
    ['later, if the clocks skip its time', MADRID, '02:30', '2026-03-28T12:00', '2026-03-29T01:30'],
    ['later, west of UTC', 'America/New_York', '02:30', '2026-03-08T06:45', '2026-03-08T07:30'],
    ['later, at midnight', 'America/Santiago', '00:00', '2026-09-05T12:00', '2026-09-06T04:00'],
    ['the first time, if its time comes twice', MADRID, '02:30', '2026-10-25T00:15', '2026-10-25T00:30'],
    ['the second time', 'America/New_York', '01:30', '2026-11-01T06:15', '2026-11-01T06:30'],
    ['on the morning after', MADRID, '08:00', '2026-03-29T00:30', '2026-03-29T06:00'],
  ] as const)
    it(`opens ${what}`, () => {
      const early = hours({ sunday: [{ from, to: '12:00' }] });
      const opens = opensAt(early, timeZone, new Date(`${at}:00Z`));
      assert.equal(opens?.toISOString(), `${expected}:00.000Z`);
    });

  it('never opens in the past, at any hour of the weeks in which its clocks change', () => {
    const week = hours(Object.fromEntries(WEEKDAYS.map((day) => [day, [{ from: '02:30', to: '03:00' }]])));
    for (const [timeZone, ...changes] of [
      ['America/New_York', '2026-03-08', '2026-11-01'],
      ['America/Santiago', '2026-04-05', '2026-09-06'],
      [MADRID, '2026-03-29', '2026-10-25'],
      ['Australia/Lord_Howe', '2026-04-05', '2026-10-04'],
      ['Asia/Kolkata', '2026-01-01'],
    ] as const)
      for (const change of changes)
        for (let hour = -8 * 24; hour < 2 * 24; hour += 1) {
          const at = new Date(Date.parse(change) + hour * 3_600_000 + 17 * 60_000);
          const opens = opensAt(week, timeZone, at);
          assert.ok(opens === null || opens > at, `${timeZone} ${at.toISOString()} ${opens?.toISOString()}`);
        }
  });

  it('that never opens has no time', () => {
    assert.equal(opensAt(hours({}), 'UTC', new Date()), null);
  });
});
