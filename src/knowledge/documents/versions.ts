import { keyNameOf, USER_ID } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Document, DocumentVersion, VersionReason } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { collectPage } from '../../http/paging.ts';
import type { Content } from './texts.ts';

/** All versions are kept, but at most this many are returned. */
const VERSIONS_SHOWN_MAX = 50;

/** Why a version was written, and by whom. */
export interface Origin {
  what: VersionReason;
  /** Null for an import. */
  author: Author | null;
  notificationId: number | null;
  at: Date;
}

/** Newest first, and fewer if they are long. */
export async function listVersions(
  queries: Queries,
  merchantId: MerchantId,
  { id, version }: Document,
): Promise<DocumentVersion[]> {
  const { rows } = await collectPage<DocumentVersion>(
    VERSIONS_SHOWN_MAX,
    ({ title, body }) => title.length + body.length,
    (last, atMost) =>
      queries.all(
        `select v.version, v.what, v.title, v.body, v.user_id,
          coalesce(u.name, ${keyNameOf('$1', 'v.key_id')}) as user_name, v.notification_id, v.created_at
          from document_versions v left join users u on u.id = v.user_id
          where v.merchant_id = $1 and v.document_id = $2 and v.version < $3
          order by v.version desc limit $4`,
        // Leaves out versions that were written after the document was read.
        [merchantId, id, last?.version ?? version + 1, atMost],
      ),
  );
  return rows;
}

/** The content of the previous version. */
export function findEarlierContent(
  queries: Queries,
  merchantId: MerchantId,
  { id, version }: Document,
): Promise<Content | undefined> {
  return queries.one(
    `select title, body from document_versions where merchant_id = $1 and document_id = $2 and version = $3`,
    [merchantId, id, version - 1],
  );
}

export async function insertVersions(
  tx: Queries,
  merchantId: MerchantId,
  documents: readonly Document[],
  { what, author, notificationId, at }: Origin,
): Promise<void> {
  await insertRows(
    tx,
    'document_versions',
    documents.map(({ id, version, title, body }) => ({
      ...{ merchant_id: merchantId, document_id: id, version, title, body, what },
      ...{ user_id: author?.userId ?? null, key_id: author?.keyId ?? null },
      ...{ notification_id: notificationId, created_at: at.toISOString() },
    })),
    { reference: USER_ID },
  );
}
