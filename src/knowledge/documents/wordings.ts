import type { MerchantId } from '../../contract/ids.ts';
import type { Document, DocumentWording } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { sameAsTitle, tooManyWordings } from '../../errors.ts';
import { lockDocument } from './lock.ts';
import { recordRemoval } from './removals.ts';
import type { Origin } from './versions.ts';
import {
  type Addition,
  deleteWording,
  insertWordings,
  listWordings,
  WORDINGS_MAX,
  type WordingOrigin,
  wordingKey,
} from './wordingRows.ts';
import { indexAgain, logChange } from './write.ts';

/** Adds what `withoutKnown` returned to documents that the caller has locked. */
export async function writeWordings(
  tx: Queries,
  merchantId: MerchantId,
  additions: readonly Addition[],
  origin: WordingOrigin & { what?: Origin['what'] },
): Promise<void> {
  if (additions.length === 0) return;
  await insertWordings(tx, merchantId, additions, origin);
  const documents = additions.map(({ document }) => document);
  await wordingsChanged(tx, merchantId, documents, origin);
}

/** Adds one by hand to a document that the caller has locked, or returns the wording that says the same. */
export async function addWording(
  tx: Queries,
  merchantId: MerchantId,
  document: Document,
  text: string,
  { reserve, ...origin }: WordingOrigin & { reserve: (bytes: number) => Promise<void> },
): Promise<DocumentWording> {
  const key = wordingKey(text);
  if (wordingKey(document.title) === key) throw sameAsTitle();
  const wordings = await listWordings(tx, merchantId, document.id);
  const same = wordings.find((wording) => wordingKey(wording.text) === key);
  if (same) return same;
  if (wordings.length >= WORDINGS_MAX) throw tooManyWordings(WORDINGS_MAX);
  await reserve(Buffer.byteLength(text));
  const addition = { document, wordings: [{ text, notificationId: null }] };
  await writeWordings(tx, merchantId, [addition], origin);
  const [added] = await listWordings(tx, merchantId, document.id);
  return added!;
}

/** Which of them the merchant does not have, if any. */
export async function removeWording(
  tx: Queries,
  merchantId: MerchantId,
  { documentId, id, ...origin }: { documentId: number; id: number } & WordingOrigin,
): Promise<'document' | 'wording' | undefined> {
  const document = await lockDocument(tx, merchantId, documentId);
  if (!document) return 'document';
  if (!(await deleteWording(tx, merchantId, documentId, id))) return 'wording';
  await recordRemoval(tx, merchantId, document, { what: 'wording_removed', ...origin });
  await wordingsChanged(tx, merchantId, [document], origin);
  return undefined;
}

async function wordingsChanged(
  tx: Queries,
  merchantId: MerchantId,
  documents: readonly Document[],
  { what = 'edit', at }: WordingOrigin & { what?: Origin['what'] },
): Promise<void> {
  await indexAgain(tx, merchantId, documents, at);
  await logChange(tx, merchantId, documents, 'changed', { what, at });
}
