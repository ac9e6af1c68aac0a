import type { FastifyRequest } from 'fastify';
import { invalid } from '../errors.ts';
import { inSlices } from './limits/slices.ts';

/** Pages of a list: `limit`, `cursor`, and the `Link` header with the next page. */

export function readLimit(given: unknown, max: number): number | undefined {
  if (given === undefined) return undefined;
  const limit = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > max) throw limitInvalid(max);
  return limit;
}

export const limitInvalid = (max: number) => invalid('limit', `limit must be an integer from 1 to ${max}`);

export const cursorOf = (position: string) => Buffer.from(position).toString('base64url');

/** The groups of a pattern that the cursor must match. */
export function readCursor(given: unknown, pattern: RegExp, source?: string): string[] | undefined {
  if (given === undefined) return undefined;
  const parts = pattern.exec(Buffer.from(String(given), 'base64url').toString());
  if (!parts) throw cursorInvalid(source);
  return parts.slice(1);
}

export const cursorInvalid = (source = 'the Link header of a page') =>
  invalid('cursor', `cursor must come from ${source}`);

export function nextLink(request: FastifyRequest, cursor: string): string {
  const url = new URL(request.url, 'http://deskbell');
  url.searchParams.set('cursor', cursor);
  return `<${url.pathname + url.search}>; rel="next"`;
}

/** The texts of one page, in characters. To read and send more at once would make others wait. */
const PAGE_LENGTH_MAX = 250_000;
/** The usual page of 100 takes three statements. */
const READ_AT_ONCE = 34;

/**
 * Reads a page piece by piece: at most `limit` rows, and fewer if their texts are long. `read` returns the rows after
 * the last one.
 */
export async function collectPage<Row>(
  limit: number,
  lengthOf: (row: Row) => number,
  read: (last: Row | undefined, atMost: number) => Promise<readonly Row[]>,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows: Row[] = [];
  const pause = inSlices();
  let length = 0;
  for (;;) {
    // One row more than the page shows that there is a next page.
    const atMost = Math.min(READ_AT_ONCE, limit + 1 - rows.length);
    const piece = await read(rows.at(-1), atMost);
    for (const row of piece) {
      length += lengthOf(row);
      if (rows.length === limit || (rows.length > 0 && length > PAGE_LENGTH_MAX))
        return { rows, hasMore: true };
      rows.push(row);
    }
    if (piece.length < atMost) return { rows, hasMore: false };
    await pause();
  }
}
