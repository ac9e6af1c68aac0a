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

/** "3 minutes ago", "in 2 hours", "now". */
export function relative(language: Language, at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  const format = relativeFormat(language, { numeric: 'auto', style: 'short' });
  if (Math.abs(seconds) < MINUTE) return format.format(0, 'second');
  const [amount, unit] = toLargestUnit(Math.abs(seconds));
  return format.format(Math.sign(seconds) * amount, unit);
}

export function dateTime(language: Language, at: string): string {
  return dateFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at));
}

export function clockTime(language: Language, at: string): string {
  return dateFormat(language, { hour: 'numeric', minute: '2-digit' }).format(new Date(at));
}

/** With seconds, because a message may be queued, sent and read within one minute. */
export function exactTime(language: Language, at: string): string {
  return dateFormat(language, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
    second: '2-digit',
  }).format(new Date(at));
}
