/** Calendar days in a time zone. Pure. */

const QUARTER_MS = 15 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

export interface Days {
  /** `2026-01-15`, oldest first, today last. */
  names: string[];
  /** When each of them starts, as a time in UTC. */
  starts: string[];
}

/** Returns undefined if there is no such time zone. */
export function lastDays(count: number, timeZone: string, now: Date): Days | undefined {
  const format = formatIn(timeZone);
  if (!format) return undefined;
  const dayOf = (at: number) => format.format(at);
  // By the calendar, not by hours: a day may have 23 or 25.
  const today = Date.parse(dayOf(now.getTime()));
  const names = Array.from({ length: count }, (_, index) =>
    new Date(today - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
  // In every zone a day starts on a quarter of an hour (UTC). Two days earlier is early enough for all zones.
  let start = Math.floor((now.getTime() - (count + 1) * DAY_MS) / QUARTER_MS) * QUARTER_MS;
  const starts = names.map((name) => {
    while (dayOf(start) < name) start += QUARTER_MS;
    const found = new Date(start).toISOString();
    start += DAY_MS / 2;
    return found;
  });
  return { names, starts };
}

/** The last ones of them. */
export const newestOf = ({ names, starts }: Days, count: number): Days => ({
  names: names.slice(-count),
  starts: starts.slice(-count),
});

/** Which of the days it was, counted from 0; -1 if it was before them. */
export function dayIndexOf({ starts }: Days, at: string): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function formatIn(timeZone: string): Intl.DateTimeFormat | undefined {
  // Offsets such as +02:00 are not time zones: they have no daylight saving time.
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(timeZone)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-CA', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
  } catch {
    return undefined;
  }
}
