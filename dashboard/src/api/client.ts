import { getAccessToken, refreshToken } from '../session/session.ts';
import { networkError, readApiError } from './error.ts';

/** An API call as data, so that the same value can be sent and shown as a curl command. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface ApiResponse<T> {
  body: T;
  headers: Headers;
}

export async function request<T>(
  call: Call,
  options: { signal?: AbortSignal; keepalive?: boolean } = {},
): Promise<T> {
  return (await requestWithHeaders<T>(call, options)).body;
}

export async function requestWithHeaders<T>(
  call: Call,
  options: { signal?: AbortSignal; keepalive?: boolean } = {},
): Promise<ApiResponse<T>> {
  let response = await send(call, await getAccessToken(), options);
  // A sleeping device misses the scheduled refresh: retry once with a new token.
  if (response.status === 401) response = await send(call, await refreshToken(), options);
  // Sent with If-None-Match: the caller's copy is current.
  if (response.status === 304) return { body: undefined as T, headers: response.headers };
  if (!response.ok) throw await readApiError(response);
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
    throw networkError();
  });
}

/** Without the token, which must not end up in a shell history: the user sets $TOKEN. */
export function toCurl({ method, path, body, headers }: Call): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const parts = ['curl'];
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push('-X', method);
  parts.push(quote(location.origin + path), '-H "Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push('-H', quote('Content-Type: application/json'));
  for (const [name, value] of Object.entries(headers ?? {})) parts.push('-H', quote(`${name}: ${value}`));
  if (body !== undefined) parts.push('-d', quote(JSON.stringify(body)));
  return parts.join(' ');
}

/** What the server takes in one call about many. */
const TOGETHER_MAX = 100;

export const inSlices = (ids: readonly number[]): (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / TOGETHER_MAX) }, (_, n) =>
    ids.slice(n * TOGETHER_MAX, (n + 1) * TOGETHER_MAX),
  );
