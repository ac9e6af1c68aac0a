import { invalid } from '../errors.ts';

export const afterIdInvalid = () =>
  invalid('after_id', 'after_id must be the after_id of the previous response');

/** Where a call that changes many goes on. */
export function readAfterId(given: unknown): number {
  if (given === undefined || given === null) return 0;
  if (!Number.isSafeInteger(given) || (given as number) < 0) throw afterIdInvalid();
  return given as number;
}

/** What happened to many messages. */
export const manyMessage = (count: number, done: string) =>
  count === 1 ? `1 message is ${done}.` : `${count} messages are ${done}.`;
