import type { MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { ImportedDocument } from '../../contract/knowledgeUpkeep.ts';
import type { Queries } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { findDocumentsByTitle } from '../documents/lock.ts';
import { withoutKnown } from '../documents/wordingRows.ts';
import { isSame } from '../documents/write.ts';
import type { FileContent } from './files.ts';

const BATCH_SIZE = 20;

/** What an import of these would do to each. Writes nothing. */
export async function previewImport(
  queries: Queries,
  merchantId: MerchantId,
  documents: readonly { line: number; content: FileContent }[],
): Promise<ImportedDocument[]> {
  const previewed: ImportedDocument[] = [];
  const seen = new Set<string>();
  const pause = inSlices();
  for (let from = 0; from < documents.length; from += BATCH_SIZE) {
    const batch = documents.slice(from, from + BATCH_SIZE);
    const titles = batch.map(({ content }) => content.title);
    const byTitle = await findDocumentsByTitle(queries, merchantId, titles);
    const reworded = await rewordedAmong(queries, merchantId, batch, byTitle);
    for (const { line, content } of batch) {
      const current = byTitle.get(content.title);
      // A title that the file has twice is new once, and then changed.
      const isNew = !current && !seen.has(content.title);
      const isUnchanged = current && isSame(current, content) && !reworded.has(current.id);
      seen.add(content.title);
      const change = isNew ? 'new' : isUnchanged ? 'same' : 'changed';
      previewed.push({ line, title: content.title, change, document_id: current?.id ?? null });
    }
    await pause();
  }
  return previewed;
}

/** The documents that would get other wordings. */
async function rewordedAmong(
  queries: Queries,
  merchantId: MerchantId,
  batch: readonly { content: FileContent }[],
  byTitle: ReadonlyMap<string, Document>,
): Promise<Set<number>> {
  const additions = batch.flatMap(({ content: { title, wordings = [] } }) => {
    const document = byTitle.get(title);
    const texts = wordings.map((text) => ({ text, notificationId: null }));
    return document && texts.length > 0 ? [{ document, wordings: texts }] : [];
  });
  const missing = await withoutKnown(queries, merchantId, additions);
  return new Set(missing.map(({ document }) => document.id));
}
