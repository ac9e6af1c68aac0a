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
    [
      'opens at the time of the day when the clocks go forward',
      '2026-03-27T19:00:00Z',
      '2026-03-28T21:00:00Z',
    ],
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

  it('opens an hour later if the clocks skip its time', () => {
    const early = hours({ sunday: [{ from: '02:30', to: '05:00' }] });
    assert.equal(
      opensAt(early, MADRID, new Date('2026-03-28T12:00:00Z'))?.toISOString(),
      '2026-03-29T01:30:00.000Z',
    );
  });

  it('that never opens has no time', () => {
    assert.equal(opensAt(hours({}), 'UTC', new Date()), null);
  });
});
