import { type OpeningHours, WEEKDAYS } from '../contract/merchant.ts';

const DAY_MS = 24 * 60 * 60_000;

/** A time on the shop's clock, as if that clock showed UTC. */
type LocalMs = number;

const formats = new Map<string, Intl.DateTimeFormat>();
/** More than there are time zones with different clocks. A format takes a hundred times as long to make as to use. */
const FORMATS_MAX = 500;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en', {
      ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    if (formats.size >= FORMATS_MAX) formats.clear();
    formats.set(timeZone, format);
  }
  return format;
}

function localMs(timeZone: string, at: number): LocalMs {
  const parts = formatOf(timeZone).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

/**
 * When the shop's clock next shows this time, after `at`. A time that a clock change skips is that much later. One that
 * comes twice is the first of them that is not over.
 */
function instantOf(timeZone: string, local: LocalMs, at: number): number {
  const offset = (near: number) => localMs(timeZone, near) - near;
  const [before, after] = [local - offset(local - DAY_MS), local - offset(local + DAY_MS)];
  const shown = [before, after].filter((instant) => localMs(timeZone, instant) === local && instant > at);
  return shown.length > 0 ? Math.min(...shown) : Math.max(before, after);
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
      if (opens > now) return new Date(instantOf(timeZone, opens, at.getTime()));
    }
  }
  return null;
}
