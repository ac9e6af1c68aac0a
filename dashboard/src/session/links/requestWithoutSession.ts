import type { Call } from '../../api/client.ts';
import { networkError, readApiError } from '../../api/error.ts';

/** For people who are not signed in. */
export async function requestWithoutSession<T>({ method, path, body }: Call): Promise<T> {
  const response = await fetch(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }).catch((): never => {
    throw networkError();
  });
  if (!response.ok) throw await readApiError(response);
  return (await response.json()) as T;
}

/** What follows the # in the address. It is read once, and does not stay in the history. */
export function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}
