import { DELIVERY_STATES } from '../contract/deliveryStates.ts';
import { invalid } from '../errors.ts';

export const stateInvalid = (states: readonly string[] = DELIVERY_STATES) =>
  invalid('state', `state must be one of ${states.join(', ')}`);

export function readState<State extends string>(given: unknown, states: readonly State[]): State {
  const state = states.find((name) => name === given);
  if (!state) throw stateInvalid(states);
  return state;
}

export const field = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined;

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
