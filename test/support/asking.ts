import { createKey } from './machineKeys.ts';
import type { CallOptions, Deskbell } from './server.ts';
import { NOTIFICATIONS } from './server.ts';

export const ASK = '/api/v1/ask';

/** An assistant with a key, and the merchant who answers it. */
export function useAsks(deskbell: Deskbell) {
  let key: string | undefined;
  const keyOf = async () => (key ??= await createKey(deskbell));
  const call = async (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, path, { token: await keyOf(), ...options });
  const ask = (body: object, options: CallOptions = {}) => call('POST', ASK, { body, ...options });
  let customers = 0;
  /** A new customer, so that no other test's question is the same. */
  const customer = () => ({ phone: `+34611${String(660000 + ++customers)}`, name: 'Lucía' });
  const question = () => `Do you ship article ${++customers} to the moon?`;
  const answer = async (id: number, body: object = { answer: 'Yes, on Fridays.' }) =>
    deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token: await deskbell.signIn(), body });
  return { call, ask, answer, customer, question };
}
