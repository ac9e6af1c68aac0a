import type { FastifyRequest } from 'fastify';

/**
 * The one cookie there is. No script can read it (HttpOnly), no other site's page can make a browser send it
 * (SameSite=Strict), and no address but the session's ever gets it (Path).
 */
const NAME = 'deskbell_refresh';

export function readRefreshCookie(request: FastifyRequest): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = splitOnce(pair);
    if (name === NAME && value !== '') return value;
  }
  return undefined;
}

/** A JWT's letters need no quoting in a cookie. */
export function refreshCookie(request: FastifyRequest, token: string, maxAgeSeconds: number): string {
  const secure = request.protocol === 'https' ? '; Secure' : '';
  return `${NAME}=${token}; Max-Age=${maxAgeSeconds}; Path=/session; HttpOnly; SameSite=Strict${secure}`;
}

export const noRefreshCookie = (request: FastifyRequest) => refreshCookie(request, '', 0);

function splitOnce(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  return at === -1 ? ['', ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}
