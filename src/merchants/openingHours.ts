import { type OpeningHours, WEEKDAYS } from '../contract/merchant.ts';

const DAY_MS = 24 * 60 * 60_000;

/** A time on the shop's clock, as if that clock showed UTC. */
type LocalMs = number;

function localMs(timeZone: string, at: number): LocalMs {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
    ...{
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    },
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

/** A time that a clock change skips becomes the one an hour later. */
function instantOf(timeZone: string, local: LocalMs): number {
  // The second time with the offset that applies then, in case the clocks change in between.
  const guess = local - (localMs(timeZone, local) - local);
  return local - (localMs(timeZone, guess) - guess);
}

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** When a closed shop opens next. Null if it is open now, or never opens. */
export function opensAt(hours: OpeningHours, timeZone: string, at: Date): Date | null {
  const now = localMs(timeZone, at.getTime());
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  for (let day = today; day <= today + 7 * DAY_MS; day += DAY_MS) {
    const weekday = WEEKDAYS[(new Date(day).getUTCDay() + 6) % 7]!;
    for (const { from, to } of hours[weekday]) {
      const [opens, closes] = [from, to].map((time) => day + minutesOf(time) * 60_000) as [number, number];
      if (opens <= now && now < closes) return null;
      if (opens > now) return new Date(instantOf(timeZone, opens));
    }
  }
  return null;
}
