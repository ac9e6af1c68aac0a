import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { createDocument, lockDocumentsByTitle, type Origin, writeVersion } from './store.ts';
import type { Content } from './texts.ts';

export interface ImportSummary {
  added: number;
  updated: number;
  unchanged: number;
}

const BATCH_SIZE = 100;

/** Adds documents and updates those whose title the merchant has: a file can be imported again. */
export async function importDocuments(
  database: Database,
  merchantId: MerchantId,
  contents: readonly Content[],
  { now, onProgress }: { now: () => Date; onProgress: (soFar: ImportSummary) => void },
): Promise<ImportSummary> {
  const summary: ImportSummary = { added: 0, updated: 0, unchanged: 0 };
  for (let from = 0; from < contents.length; from += BATCH_SIZE) {
    const startedAt = performance.now();
    const batch = contents.slice(from, from + BATCH_SIZE);
    const outcomes = await database.transaction((tx) => importBatch(tx, merchantId, batch, now));
    for (const outcome of outcomes) summary[outcome] += 1;
    onProgress(summary);
    // SQLite's write lock has no queue: the pause lets a server on the same folder write.
    if (database.engine === 'sqlite') await sleep(performance.now() - startedAt);
  }
  return summary;
}

async function importBatch(
  tx: Transaction,
  merchantId: MerchantId,
  batch: readonly Content[],
  now: () => Date,
): Promise<(keyof ImportSummary)[]> {
  // Two imports at the same time would not see each other's new titles.
  await tx.lock(`knowledge import ${merchantId}`);
  const byTitle = await lockDocumentsByTitle(
    tx,
    merchantId,
    batch.map(({ title }) => title),
  );
  const outcomes: (keyof ImportSummary)[] = [];
  for (const content of batch) {
    const origin: Origin = { what: 'import', userId: null, notificationId: null, at: now() };
    const known = byTitle.get(content.title);
    const document = known
      ? await writeVersion(tx, merchantId, known, content, origin)
      : await createDocument(tx, merchantId, content, origin);
    // A file may hold a title twice: the second one updates the first.
    byTitle.set(content.title, document);
    outcomes.push(!known ? 'added' : document.version === known.version ? 'unchanged' : 'updated');
  }
  return outcomes;
}
