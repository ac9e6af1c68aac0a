/** Times of a day, such as 22:00 to 07:00. */
export interface Period {
  from: string;
  to: string;
  time_zone: string;
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** When the quiet hours end, if it is one of them now. When clocks change, it may be an hour too early: look again then. */
export function quietUntil({ from, to, time_zone }: Period, at: Date): Date | undefined {
  const format = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: time_zone } as const;
  const now = minutesOf(new Intl.DateTimeFormat('en-GB', format).format(at));
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const isQuiet = start < end ? now >= start && now < end : now >= start || now < end;
  if (!isQuiet) return undefined;
  const minutes = (end - now + 24 * 60) % (24 * 60);
  const beginOfMinute = Math.floor(at.getTime() / 60_000) * 60_000;
  return new Date(beginOfMinute + minutes * 60_000);
}
