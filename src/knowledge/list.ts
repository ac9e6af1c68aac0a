import type { MerchantId } from '../contract/ids.ts';
import type { Document } from '../contract/knowledge.ts';
import type { Queries } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { searchDocuments } from './search.ts';
import { findDocuments, listDocuments, type Position } from './store.ts';

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
  queries: Queries,
  merchantId: MerchantId,
  query: DocumentQuery,
): Promise<Page> {
  const { limit } = query;
  if (query.search !== undefined) {
    const ids = await searchDocuments(queries, merchantId, query.search);
    const end = query.skip + limit;
    return {
      documents: await findDocuments(queries, merchantId, ids.slice(query.skip, end)),
      nextCursor: ids.length > end ? cursorOf(`skip ${end}`) : undefined,
    };
  }
  // One extra row shows whether there is a next page.
  const rows = await listDocuments(queries, merchantId, { after: query.after, limit: limit + 1 });
  const documents = rows.slice(0, limit);
  const last = documents.at(-1);
  return {
    documents,
    nextCursor: rows.length > limit && last ? cursorOf(`after ${last.updated_at} ${last.id}`) : undefined,
  };
}
