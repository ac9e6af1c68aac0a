import { authorNameOf, USER_ID } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Document, DocumentWording } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { insertRows } from '../../database/insert.ts';
import { stemsOf } from '../search/words.ts';

/** Of one document. */
export const WORDINGS_MAX = 100;

interface NewWording {
  text: string;
  /** The notification that asked so. */
  notificationId: number | null;
}

/** Who adds or removes wordings, and when. */
export interface WordingOrigin {
  /** Null for an import. */
  author: Author | null;
  at: Date;
}

/** Wordings with the same words in the same order are the same. Stop words count only if there are no others. */
export const wordingKey = (text: string): string => stemsOf(text).join(' ') || text.toLowerCase();

/** Newest first. */
export function listWordings(
  queries: Queries,
  merchantId: MerchantId,
  documentId: number,
): Promise<DocumentWording[]> {
  return queries.all(
    `select id, text, notification_id, user_id, ${authorNameOf('$1', 'w.user_id', 'w.key_id')} as user_name,
      created_at from document_wordings w where merchant_id = $1 and document_id = $2 order by id desc`,
    [merchantId, documentId],
  );
}

/** The texts of each document that has other wordings, oldest first. */
export async function readWordings(
  queries: Queries,
  merchantId: MerchantId,
  documentIds: readonly number[],
): Promise<Map<number, string[]>> {
  const rows = await queries.all<{ document_id: number; text: string }>(
    `select document_id, text from document_wordings
      where ${ownIdIn(queries, '$1', '$2', 'document_id')} order by document_id, id`,
    [merchantId, documentIds],
  );
  return new Map(
    [...Map.groupBy(rows, (row) => row.document_id)].map(([id, own]) => [id, own.map(({ text }) => text)]),
  );
}

/** Wordings to add to a document. */
export interface Addition {
  document: Document;
  wordings: readonly NewWording[];
}

/** The wordings that their documents do not have yet, as many as each may still get. */
export async function withoutKnown(
  queries: Queries,
  merchantId: MerchantId,
  additions: readonly Addition[],
): Promise<Addition[]> {
  if (additions.length === 0) return [];
  const ids = additions.map(({ document }) => document.id);
  const stored = await readWordings(queries, merchantId, ids);
  return additions.flatMap(({ document, wordings }) => {
    const texts = stored.get(document.id) ?? [];
    const known = new Set([document.title, ...texts].map(wordingKey));
    const added = wordings.filter(({ text }) => {
      const key = wordingKey(text);
      return !known.has(key) && known.add(key);
    });
    const places = WORDINGS_MAX - texts.length;
    return added.length > 0 && places > 0 ? [{ document, wordings: added.slice(0, places) }] : [];
  });
}

/** Adds what `withoutKnown` returned, for a caller that has locked the documents and updates their index. */
export async function insertWordings(
  tx: Queries,
  merchantId: MerchantId,
  additions: readonly Addition[],
  { author, at }: WordingOrigin,
): Promise<void> {
  if (additions.length === 0) return;
  const rows = additions.flatMap(({ document, wordings }) =>
    wordings.map(({ text, notificationId }) => ({
      ...{ merchant_id: merchantId, document_id: document.id, text, notification_id: notificationId },
      ...{ user_id: author?.userId ?? null, key_id: author?.keyId ?? null, created_at: at.toISOString() },
    })),
  );
  await insertRows(tx, 'document_wordings', rows, { reference: USER_ID });
}

/** False if the document has no such wording. */
export async function deleteWording(
  tx: Queries,
  merchantId: MerchantId,
  documentId: number,
  id: number,
): Promise<boolean> {
  const rows = await tx.run(
    'delete from document_wordings where merchant_id = $1 and document_id = $2 and id = $3 returning id',
    [merchantId, documentId, id],
  );
  return rows.length > 0;
}
