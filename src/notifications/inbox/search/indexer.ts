import type { MerchantId } from '../../../contract/ids.ts';
import { CHANGES, type Database, type Engine } from '../../../database/database.ts';
import { type Job, merchantsOf } from '../../../jobs/job.ts';
import {
  continueChange,
  findChanged,
  listChanges,
  listOfConversation,
  removeChanges,
  writeWords,
} from './store.ts';
import { indexedWordsOf, readTexts } from './texts.ts';

/** Changes of one merchant before the next has its turn. On SQLite nothing else happens meanwhile. */
const BATCH_MAX: Record<Engine, number> = { sqlite: 50, postgres: 100 };
/** Long texts take long: then a batch is shorter. */
const BATCH_MAX_MS = 10;
/** Old contexts have up to 256 KB each. */
const READ_AT_ONCE = 10;

/** Moves what has changed into the index of the inbox, one batch per merchant in turn. */
export const indexInboxes = (database: Database): Job => ({
  name: 'inbox index',
  purpose: 'index an inbox',
  everyMs: 2000,
  wakes: [CHANGES],
  gatherMs: 500,
  due: async ({ after }) => merchantsOf(await findChanged(database, after?.merchant_id ?? 0)),
  // If another worker has it, it is left to that one.
  run: async ({ merchant_id }) => ((await indexNext(database, merchant_id)) > 0 ? 'more' : 'done'),
});

/**
 * Indexes a merchant's newest changes, and returns how many are done. The changes are read before the texts, so the texts
 * are at least as new; only one worker at a time does it, so that no older text is written over a newer one.
 */
export const indexNext = (database: Database, merchantId: MerchantId): Promise<number> =>
  database.transaction(async (tx) => {
    if (!(await tx.tryLock(`inbox index ${merchantId}`))) return 0;
    const changes = await listChanges(tx, merchantId, BATCH_MAX[tx.engine]);
    const startedAt = performance.now();
    const words = new Map<number, ReadonlySet<string>>();
    const finished: string[] = [];
    let continued = 0;
    const index = async (ids: readonly number[]) => {
      const texts = await readTexts(tx, merchantId, ids, { lock: true });
      for (const [id, found] of texts) words.set(id, indexedWordsOf(found));
    };
    // By their ids, because each of them is locked.
    const sorted = changes.toSorted((a, b) => (a.notification_id ?? 0) - (b.notification_id ?? 0));
    for (let from = 0; from < sorted.length; from += READ_AT_ONCE) {
      if (from > 0 && performance.now() - startedAt > BATCH_MAX_MS) break;
      const slice = sorted.slice(from, from + READ_AT_ONCE);
      const ids = new Set(slice.flatMap(({ notification_id }) => notification_id ?? []));
      await index([...ids].filter((id) => !words.has(id)));
      for (const { seq, conversation_id, after_id } of slice) {
        if (conversation_id === null) {
          finished.push(seq);
          continue;
        }
        if (performance.now() - startedAt > BATCH_MAX_MS && finished.length + continued > 0) continue;
        const page = { conversationId: conversation_id, afterId: after_id, limit: READ_AT_ONCE };
        const own = await listOfConversation(tx, merchantId, page);
        await index(own.filter((id) => !words.has(id)));
        if (own.length < READ_AT_ONCE) finished.push(seq);
        else {
          await continueChange(tx, merchantId, seq, own.at(-1)!);
          continued += 1;
        }
      }
    }
    await writeWords(tx, merchantId, words);
    await removeChanges(tx, merchantId, finished);
    return finished.length + continued;
  });
