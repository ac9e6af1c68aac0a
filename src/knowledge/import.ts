import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries } from '../database/database.ts';
import { changeDocument, createDocument, findDocumentByTitle, type Origin } from './store.ts';
import type { Content } from './texts.ts';

export interface ImportSummary {
  added: number;
  updated: number;
  unchanged: number;
}

const BATCH_SIZE = 100;

/** Adds documents, or brings those of the same title up to date: a file may be imported again. */
export async function importDocuments(
  database: Database,
  merchantId: MerchantId,
  contents: readonly Content[],
  { now, onProgress }: { now: () => Date; onProgress: (soFar: ImportSummary) => void },
): Promise<ImportSummary> {
  const summary: ImportSummary = { added: 0, updated: 0, unchanged: 0 };
  for (let from = 0; from < contents.length; from += BATCH_SIZE) {
    const startedAt = performance.now();
    const outcomes = await database.transaction(async (tx) => {
      // Of two imports at once one would not see the titles of the other.
      await tx.lock(`knowledge import ${merchantId}`);
      const done: (keyof ImportSummary)[] = [];
      for (const content of contents.slice(from, from + BATCH_SIZE)) {
        done.push(await importDocument(tx, merchantId, content, now()));
      }
      return done;
    });
    for (const outcome of outcomes) summary[outcome] += 1;
    onProgress(summary);
    // SQLite's lock has no queue: a server on the same folder gets its turn in the pause.
    if (database.engine === 'sqlite') await sleep(performance.now() - startedAt);
  }
  return summary;
}

async function importDocument(
  tx: Queries,
  merchantId: MerchantId,
  content: Content,
  at: Date,
): Promise<keyof ImportSummary> {
  const origin: Origin = { what: 'import', userId: null, notificationId: null, at };
  const known = await findDocumentByTitle(tx, merchantId, content.title);
  if (!known) {
    await createDocument(tx, merchantId, content, origin);
    return 'added';
  }
  const document = await changeDocument(tx, merchantId, known.id, () => content, origin);
  return document?.version === known.version ? 'unchanged' : 'updated';
}
