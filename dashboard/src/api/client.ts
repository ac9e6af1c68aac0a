import { renew, tokenNow } from '../session/session.ts';
import { readProblem, unreachable } from './problem.ts';

/** A call to the API, as data: the same value is fetched and shown as a curl line. */
export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answered<T> {
  body: T;
  headers: Headers;
}

export async function ask<T>(
  call: Call,
  options: { signal?: AbortSignal; keepalive?: boolean } = {},
): Promise<T> {
  return (await askWhole<T>(call, options)).body;
}

export async function askWhole<T>(
  call: Call,
  options: { signal?: AbortSignal; keepalive?: boolean } = {},
): Promise<Answered<T>> {
  let response = await send(call, await tokenNow(), options);
  // A telephone may sleep past the renewal: one silent try with a new token.
  if (response.status === 401) response = await send(call, await renew(), options);
  // Asked with a tag: what the caller has is current.
  if (response.status === 304) return { body: undefined as T, headers: response.headers };
  if (!response.ok) throw await readProblem(response);
  return { body: (await response.json()) as T, headers: response.headers };
}

export async function send(
  { method, path, body, headers }: Call,
  token: string,
  options: RequestInit = {},
): Promise<Response> {
  return fetch(path, {
    method,
    ...options,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown): never => {
    if ((error as Error).name === 'AbortError') throw error;
    throw unreachable();
  });
}

/** For a shell. The token is left to the reader: it belongs in no history. */
export function curlOf({ method, path, body, headers }: Call): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const parts = ['curl'];
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push('-X', method);
  parts.push(quote(location.origin + path), '-H "Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push('-H', quote('Content-Type: application/json'));
  for (const [name, value] of Object.entries(headers ?? {})) parts.push('-H', quote(`${name}: ${value}`));
  if (body !== undefined) parts.push('-d', quote(JSON.stringify(body)));
  return parts.join(' ');
}
