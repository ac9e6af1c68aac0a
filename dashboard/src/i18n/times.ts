import { dateFormat, numberFormat, relativeFormat } from './formatters.ts';
import type { Language } from './texts.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Rounds down to the largest unit: "2 days" instead of "2 days, 3 hours and 4 minutes". */
function toLargestUnit(seconds: number): [amount: number, unit: 'second' | 'minute' | 'hour' | 'day'] {
  if (seconds < MINUTE) return [Math.max(0, Math.floor(seconds)), 'second'];
  if (seconds < HOUR) return [Math.floor(seconds / MINUTE), 'minute'];
  if (seconds < 2 * DAY) return [Math.floor(seconds / HOUR), 'hour'];
  return [Math.floor(seconds / DAY), 'day'];
}

/** "47 min", "3 hr", "2 days". */
export function duration(language: Language, seconds: number): string {
  const [amount, unit] = toLargestUnit(seconds);
  const shown = unit === 'second' ? ([1, 'minute'] as const) : ([amount, unit] as const);
  const text = numberFormat(language, { style: 'unit', unit: shown[1], unitDisplay: 'short' }).format(
    shown[0],
  );
  return unit === 'second' ? `< ${text}` : text;
}

type HourCycle = 'h12' | 'h23';

/** Whether people here write 3:10 PM or 15:10. That depends on the region, not on the language. */
const hourCycleHere = (): HourCycle =>
  ['h11', 'h12'].includes(dateFormat(undefined, { hour: 'numeric' }).resolvedOptions().hourCycle ?? '')
    ? 'h12'
    : 'h23';

const hourOf = (hourCycle: HourCycle) =>
  ({ hour: hourCycle === 'h23' ? '2-digit' : 'numeric', minute: '2-digit', hourCycle }) as const;

/** How a day is named within a sentence, and what is between the day and the time. */
const DAYS: Record<Language, { weekday: (name: string) => string; comma: string }> = {
  en: { weekday: (name) => name, comma: ', ' },
  es: { weekday: (name) => `el ${name}`, comma: ', ' },
  pt: { weekday: (name) => name, comma: ', ' },
  ar: { weekday: (name) => `يوم ${name}`, comma: '، ' },
};

/** Calendar days between two times, whatever the clock shows. */
function daysBefore(at: Date, now: Date): number {
  const midnight = (date: Date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (midnight(now) - midnight(at)) / (DAY * 1000);
}

/**
 * As people say it: "now", "3 minutes ago", "in 2 hours", and for other days "yesterday, 15:10", "Monday, 09:02" and
 * "12 Nov, 09:02". It fits into a sentence, so it starts with a small letter where the language has one.
 */
export function relative(language: Language, at: string, now: number, hourCycle = hourCycleHere()): string {
  const date = new Date(at);
  const seconds = (date.getTime() - now) / 1000;
  const format = relativeFormat(language, { numeric: 'auto', style: 'short' });
  if (Math.abs(seconds) < MINUTE) return format.format(0, 'second');
  const days = daysBefore(date, new Date(now));
  // Shortly after midnight, "20 minutes ago" says more than "yesterday".
  if (days <= 0 || seconds > -HOUR) {
    const [amount, unit] = toLargestUnit(Math.abs(seconds));
    return format.format(Math.sign(seconds) * amount, unit);
  }
  const { weekday, comma } = DAYS[language];
  const named = (options: Intl.DateTimeFormatOptions) => dateFormat(language, options).format(date);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  if (days > 6 && !isThisYear) return named({ day: 'numeric', month: 'short', year: 'numeric' });
  const day =
    days === 1
      ? relativeFormat(language, { numeric: 'auto' }).format(-1, 'day')
      : days <= 6
        ? weekday(named({ weekday: 'long' }))
        : named({ day: 'numeric', month: 'short' });
  return `${day}${comma}${named(hourOf(hourCycle))}`;
}

/** The day alone, between the messages of a conversation: "today", "yesterday", "Monday", "12 Nov 2025". */
export function day(language: Language, at: string, now: number): string {
  const date = new Date(at);
  const days = daysBefore(date, new Date(now));
  if (days === 0 || days === 1) return relativeFormat(language, { numeric: 'auto' }).format(-days, 'day');
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  const options: Intl.DateTimeFormatOptions =
    days > 0 && days <= 6
      ? { weekday: 'long' }
      : { day: 'numeric', month: 'long', ...(isThisYear ? {} : { year: 'numeric' }) };
  return dateFormat(language, options).format(date);
}

export function dateTime(language: Language, at: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', hourCycle: hourCycleHere() } as const;
  return dateFormat(language, options).format(new Date(at));
}

export function clockTime(language: Language, at: string): string {
  return dateFormat(language, hourOf(hourCycleHere())).format(new Date(at));
}

/** With seconds, because a message may be queued, sent and read within one minute. */
export function exactTime(language: Language, at: string): string {
  return dateFormat(language, {
    day: 'numeric',
    month: 'short',
    ...hourOf(hourCycleHere()),
    second: '2-digit',
  }).format(new Date(at));
}
