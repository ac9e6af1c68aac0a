import type { MerchantId } from '../contract/ids.ts';
import type { Document } from '../contract/knowledge.ts';
import { invalid } from '../errors.ts';
import { collectPage, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { findDocuments, listDocuments, type Position } from './documents/read.ts';
import { searchDocuments } from './search/search.ts';
import type { SuggestionParts } from './suggestions.ts';

const LIMIT_MAX = 1000;
/** Documents are long, so unlike the inbox this list always has pages. */
const LIMIT_DEFAULT = 100;
const SEARCH_LENGTH_MAX = 500;

/** Pages of a search continue by rank, pages of the list after the last document. */
export type DocumentQuery =
  | { search: string; skip: number; limit: number }
  | { search: undefined; after: Position | undefined; limit: number };

export function readDocumentQuery(query: Record<string, unknown>): DocumentQuery {
  const { q = '' } = query;
  if (typeof q !== 'string') throw invalid('q', 'q must be given once');
  if (q.length > SEARCH_LENGTH_MAX) {
    throw invalid('q', `q must not have more than ${SEARCH_LENGTH_MAX} characters`);
  }
  const limit = readLimit(query.limit, LIMIT_MAX) ?? LIMIT_DEFAULT;
  if (q.trim() !== '') {
    const position = readCursor(query.cursor, /^skip (\d{1,6})$/);
    return { search: q, skip: Number(position?.[0] ?? 0), limit };
  }
  const position = readCursor(query.cursor, /^after (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15})$/);
  return {
    search: undefined,
    after: position && { updatedAt: position[0]!, id: Number(position[1]) },
    limit,
  };
}

interface Page {
  documents: Document[];
  nextCursor: string | undefined;
}

export async function readPage(
  parts: SuggestionParts,
  merchantId: MerchantId,
  query: DocumentQuery,
): Promise<Page> {
  const { database: queries } = parts;
  const { limit } = query;
  if (query.search !== undefined) {
    const ids = await searchDocuments(parts, merchantId, query.search);
    let next = query.skip;
    const { rows, hasMore } = await collectPage(limit, lengthOf, async (_last, atMost) => {
      const found: Document[] = [];
      // Documents may have been deleted since the search.
      while (found.length < atMost && next < ids.length) {
        const wanted = ids.slice(next, next + atMost - found.length);
        next += wanted.length;
        found.push(...(await findDocuments(queries, merchantId, wanted)));
      }
      return found;
    });
    const end = ids.indexOf(rows.at(-1)?.id ?? 0) + 1;
    return { documents: rows, nextCursor: hasMore ? cursorOf(`skip ${end}`) : undefined };
  }
  const { rows, hasMore } = await collectPage(limit, lengthOf, (last, atMost) => {
    const after = last ? { updatedAt: last.updated_at, id: last.id } : query.after;
    return listDocuments(queries, merchantId, { after, limit: atMost });
  });
  const last = rows.at(-1);
  return {
    documents: rows,
    nextCursor: hasMore && last ? cursorOf(`after ${last.updated_at} ${last.id}`) : undefined,
  };
}

const lengthOf = ({ title, body }: Document) => title.length + body.length;
