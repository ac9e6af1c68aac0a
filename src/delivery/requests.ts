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
