import type { MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { FIELDS } from './columns.ts';

/** The last document of the previous page. */
export interface Position {
  updatedAt: string;
  id: number;
}

/** Last updated first. */
export function listDocuments(
  queries: Queries,
  merchantId: MerchantId,
  { after, limit }: { after: Position | undefined; limit: number },
): Promise<Document[]> {
  return after
    ? queries.all(
        `select ${FIELDS} from documents where merchant_id = $1 and (updated_at, id) < ($3, $4)
          order by updated_at desc, id desc limit $2`,
        [merchantId, limit, after.updatedAt, after.id],
      )
    : queries.all(
        `select ${FIELDS} from documents where merchant_id = $1
          order by updated_at desc, id desc limit $2`,
        [merchantId, limit],
      );
}

/** For an export: by id, so that no document is missed or repeated if others change in between. */
export function listDocumentsById(
  queries: Queries,
  merchantId: MerchantId,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<Document[]> {
  return queries.all(
    `select ${FIELDS} from documents where merchant_id = $1 and id > $2 order by id limit $3`,
    [merchantId, afterId, limit],
  );
}

/** In the order of the given ids. */
export async function findDocuments(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Document[]> {
  if (ids.length === 0) return [];
  const rows = await queries.all<Document>(
    `select ${FIELDS} from documents where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export function findDocument(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<Document | undefined> {
  return queries.one(`select ${FIELDS} from documents where merchant_id = $1 and id = $2`, [merchantId, id]);
}
