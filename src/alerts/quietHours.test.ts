import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quietUntil } from './quietHours.ts';

describe('quiet hours', () => {
  const night = { from: '22:00', to: '07:00', time_zone: 'Europe/Madrid' };
  const lunch = { from: '13:00', to: '15:30', time_zone: 'UTC' };
  const cases: [period: typeof night, at: string, until: string | undefined][] = [
    // Madrid is an hour ahead in January.
    [night, '2026-01-15T20:59:59.999Z', undefined],
    [night, '2026-01-15T21:00:00.000Z', '2026-01-16T06:00:00.000Z'],
    [night, '2026-01-16T03:15:30.500Z', '2026-01-16T06:00:00.000Z'],
    [night, '2026-01-16T06:00:00.000Z', undefined],
    [lunch, '2026-01-15T12:59:00.000Z', undefined],
    [lunch, '2026-01-15T13:00:00.000Z', '2026-01-15T15:30:00.000Z'],
    [lunch, '2026-01-15T15:30:00.000Z', undefined],
    // In summer two.
    [night, '2026-07-15T20:00:00.000Z', '2026-07-16T05:00:00.000Z'],
  ];
  for (const [period, at, until] of cases)
    it(`of ${period.from} to ${period.to} at ${at} ${until ? `end at ${until}` : 'are over'}`, () =>
      assert.equal(quietUntil(period, new Date(at))?.toISOString(), until));
});
