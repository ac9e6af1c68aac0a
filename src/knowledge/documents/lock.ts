import type { MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../../database/ids.ts';
import { elementsOf } from '../search/fulltext.ts';
import { FIELDS } from './columns.ts';

/** Locks a document until the transaction ends. Undefined if the merchant has no such document. */
export async function lockDocument(
  tx: Queries,
  merchantId: MerchantId,
  id: number | undefined,
): Promise<Document | undefined> {
  if (id === undefined || !Number.isSafeInteger(id)) return undefined;
  return tx.one(
    `select ${FIELDS} from documents where merchant_id = $1 and id = $2 ${FOR_UPDATE[tx.engine]}`,
    [merchantId, id],
  );
}

/**
 * The merchant's documents with these titles, by title; if several have the same title, the last updated. They are
 * locked in the order of their ids, all before the caller's first write: a write also locks the row of `live_versions`,
 * and a transaction that holds that row must not wait for a document.
 */
export async function lockDocumentsByTitle(
  tx: Queries,
  merchantId: MerchantId,
  titles: readonly string[],
): Promise<Map<string, Document>> {
  return byTitle(tx, merchantId, titles, FOR_UPDATE[tx.engine]);
}

/** The same without locks, to tell what an import would do. */
export const findDocumentsByTitle = (
  queries: Queries,
  merchantId: MerchantId,
  titles: readonly string[],
): Promise<Map<string, Document>> => byTitle(queries, merchantId, titles, '');

async function byTitle(
  queries: Queries,
  merchantId: MerchantId,
  titles: readonly string[],
  locked: string,
): Promise<Map<string, Document>> {
  const found = await queries.all<{ id: number | null }>(
    `select (select id from documents where merchant_id = $1 and title = wanted.value
        order by updated_at desc, id desc limit 1) as id
      from ${elementsOf(queries.engine, '$2')} wanted`,
    [merchantId, JSON.stringify(titles)],
  );
  const rows = await queries.all<Document>(
    `select ${FIELDS} from documents where ${ownIdIn(queries, '$1', '$2')}
      order by id ${locked}`,
    [merchantId, found.flatMap(({ id }) => id ?? [])],
  );
  // An edit may have changed a title in between: leave that document out.
  return new Map(rows.map((row) => [row.title, row]));
}
