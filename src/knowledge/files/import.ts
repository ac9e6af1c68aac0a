import { setTimeout as sleep } from 'node:timers/promises';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { Database, Transaction } from '../../database/database.ts';
import type { Storage } from '../../merchants/storage.ts';
import { lockDocumentsByTitle } from '../documents/lock.ts';
import { bytesOf } from '../documents/texts.ts';
import type { Origin } from '../documents/versions.ts';
import { withoutKnown } from '../documents/wordingRows.ts';
import { writeWordings } from '../documents/wordings.ts';
import { createDocuments, isSame, writeVersions } from '../documents/write.ts';
import type { FileContent } from './files.ts';

export interface ImportSummary {
  added: number;
  updated: number;
  unchanged: number;
}

const BATCH_SIZE_DEFAULT = 100;

interface ImportOptions {
  storage?: Storage;
  now: () => Date;
  /** Null: the command line. */
  author?: Author | null;
  /** In one transaction. Others wait for it. */
  batchSize?: number;
  onProgress?: (soFar: ImportSummary) => void;
}

/** Adds documents and updates those whose title already exists, so a file can be imported again. */
export async function importDocuments(
  database: Database,
  merchantId: MerchantId,
  contents: readonly FileContent[],
  { storage, now, author = null, batchSize = BATCH_SIZE_DEFAULT, onProgress }: ImportOptions,
): Promise<ImportSummary> {
  const summary: ImportSummary = { added: 0, updated: 0, unchanged: 0 };
  for (let from = 0; from < contents.length; from += batchSize) {
    const startedAt = performance.now();
    const batch = contents.slice(from, from + batchSize);
    const { added, updated, unchanged } = await database.transaction((tx) =>
      importBatch(tx, merchantId, batch, { storage, author, now }),
    );
    summary.added += added;
    summary.updated += updated;
    summary.unchanged += unchanged;
    onProgress?.(summary);
    // SQLite's write lock has no queue: the pause lets a server on the same folder write.
    if (database.engine === 'sqlite') await sleep(performance.now() - startedAt);
  }
  return summary;
}

async function importBatch(
  tx: Transaction,
  merchantId: MerchantId,
  batch: readonly FileContent[],
  { storage, author, now }: { storage: Storage | undefined; author: Author | null; now: () => Date },
): Promise<ImportSummary> {
  // Two imports at the same time would not see each other's new titles.
  await tx.lock(`knowledge import ${merchantId}`);
  const byTitle = await lockDocumentsByTitle(
    tx,
    merchantId,
    batch.map(({ title }) => title),
  );
  const summary: ImportSummary = { added: 0, updated: 0, unchanged: 0 };
  for (const contents of distinctTitles(batch)) {
    const origin: Origin = { what: 'import', author, notificationId: null, at: now() };
    const added = contents.filter(({ title }) => !byTitle.has(title));
    const changes = contents.flatMap((content) => {
      const current = byTitle.get(content.title);
      return current && !isSame(current, content) ? [{ id: current.id, content }] : [];
    });
    const contentsToWrite = [...added, ...changes.map(({ content }) => content)];
    await storage?.reserve(
      tx,
      merchantId,
      contentsToWrite.reduce((sum, content) => sum + bytesOf(content), 0),
    );
    const written = [
      ...(added.length > 0 ? await createDocuments(tx, merchantId, added, origin) : []),
      ...(changes.length > 0 ? await writeVersions(tx, merchantId, changes, origin) : []),
    ];
    for (const document of written) byTitle.set(document.title, document);
    const reworded = await importWordings(tx, merchantId, contents, byTitle, { storage, origin });
    const updated = new Set([...changes, ...reworded].map(({ id }) => id));
    for (const { id } of written.slice(0, added.length)) updated.delete(id);
    summary.added += added.length;
    summary.updated += updated.size;
    summary.unchanged += contents.length - added.length - updated.size;
  }
  return summary;
}

/** Adds the wordings that the documents do not have yet. Returns the documents that it changed. */
async function importWordings(
  tx: Transaction,
  merchantId: MerchantId,
  contents: readonly FileContent[],
  byTitle: ReadonlyMap<string, Document>,
  { storage, origin }: { storage: Storage | undefined; origin: Origin },
): Promise<Document[]> {
  const additions = contents
    .filter(({ wordings }) => wordings?.length)
    .map(({ title, wordings = [] }) => ({
      document: byTitle.get(title)!,
      wordings: wordings.map((text) => ({ text, notificationId: null })),
    }));
  const missing = await withoutKnown(tx, merchantId, additions);
  if (missing.length === 0) return [];
  const texts = missing.flatMap(({ wordings }) => wordings.map(({ text }) => text));
  await storage?.reserve(tx, merchantId, Buffer.byteLength(texts.join('')));
  await writeWordings(tx, merchantId, missing, origin);
  return missing.map(({ document }) => document);
}

/** A file may contain a title twice: the second one updates the first, so it must be in a later statement. */
function distinctTitles(batch: readonly FileContent[]): FileContent[][] {
  const groups: Map<string, FileContent>[] = [];
  for (const content of batch) {
    if (groups.at(-1)?.has(content.title) !== false) groups.push(new Map());
    groups.at(-1)!.set(content.title, content);
  }
  return groups.map((group) => [...group.values()]);
}
