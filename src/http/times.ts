import { invalid } from '../errors.ts';

/** The offset is required: without one, the time would be that of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A time as ISO 8601, or undefined if it is none. */
export function readTime(given: unknown): Date | undefined {
  const time = typeof given === 'string' && TIME.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? undefined : new Date(time);
}

export const sinceInvalid = () => invalid('since', 'since must be a time such as 2026-01-15T09:30:00Z');

/** The beginning of a day in UTC, or a time. Undefined if none is given. */
export function readSince(given: unknown): Date | undefined {
  if (given === undefined) return undefined;
  const time = typeof given === 'string' && /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(time)) throw sinceInvalid();
  return new Date(time);
}
