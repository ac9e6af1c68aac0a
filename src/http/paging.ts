import type { FastifyRequest } from 'fastify';
import { invalid } from '../errors.ts';

/** Pages of a list: `limit`, `cursor`, and the `Link` header with the next page. */

export function readLimit(given: unknown, max: number): number | undefined {
  if (given === undefined) return undefined;
  const limit = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > max) throw invalid('limit', `limit must be an integer from 1 to ${max}`);
  return limit;
}

export const cursorOf = (position: string) => Buffer.from(position).toString('base64url');

/** The groups of a pattern that the cursor must match. */
export function readCursor(given: unknown, pattern: RegExp): string[] | undefined {
  if (given === undefined) return undefined;
  const parts = pattern.exec(Buffer.from(String(given), 'base64url').toString());
  if (!parts) throw cursorInvalid();
  return parts.slice(1);
}

export const cursorInvalid = () => invalid('cursor', 'cursor must come from the Link header of a page');

export function nextLink(request: FastifyRequest, cursor: string): string {
  const url = new URL(request.url, 'http://deskbell');
  url.searchParams.set('cursor', cursor);
  return `<${url.pathname + url.search}>; rel="next"`;
}
