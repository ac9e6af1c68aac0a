/** The offset is required: without one, the time would be that of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A time as ISO 8601, or undefined if it is none. */
export function readTime(given: unknown): Date | undefined {
  const time = typeof given === 'string' && TIME.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? undefined : new Date(time);
}
