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
