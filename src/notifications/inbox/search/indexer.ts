import type { Logger } from 'pino';
import type { MerchantId } from '../../../contract/ids.ts';
import { CHANGES, type Database, DatabaseUnavailable, type Engine } from '../../../database/database.ts';
import {
  continueChange,
  findChanged,
  listChanges,
  listOfConversation,
  removeChanges,
  writeWords,
} from './store.ts';
import { indexedWordsOf, readTexts } from './texts.ts';

export interface InboxIndexer {
  stop(): Promise<void>;
}

/** Signals may be lost with their connection. */
const POLL_MS = 2000;
/** Changes within this time share one look. */
const LOOK_EVERY_MS = 500;
/** Changes of one merchant before the next has its turn. On SQLite nothing else happens meanwhile. */
const BATCH_MAX: Record<Engine, number> = { sqlite: 50, postgres: 100 };
/** Long texts take long: then a batch is shorter. */
const BATCH_MAX_MS = 10;
/** Old contexts have up to 256 KB each. */
const READ_AT_ONCE = 10;

/** Moves what has changed into the index of the inbox, one batch per merchant in turn. */
export function startInboxIndexer({ database, log }: { database: Database; log: Logger }): InboxIndexer {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let failing = false;

  function lookSoon(): void {
    if (running || stopped) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      running = indexAll().finally(() => {
        running = undefined;
      });
    }, LOOK_EVERY_MS).unref();
  }

  async function indexAll(): Promise<void> {
    try {
      let after = 0;
      for (let done = 0; !stopped; ) {
        const merchantIds = await findChanged(database, after);
        for (const merchantId of merchantIds) {
          if (stopped) return;
          done += await indexOne(merchantId);
          after = merchantId;
        }
        if (merchantIds.length > 0) continue;
        // Those that another worker has locked are left to it.
        if (done === 0) break;
        [after, done] = [0, 0];
      }
      failing = false;
    } catch (err) {
      // Once per outage.
      if (!failing) log.warn({ err }, 'cannot index the inbox; will retry');
      failing = true;
    }
  }

  async function indexOne(merchantId: MerchantId): Promise<number> {
    try {
      return await indexNext(database, merchantId);
    } catch (err) {
      // A problem with one merchant must not stop the others.
      if (err instanceof DatabaseUnavailable) throw err;
      log.error({ err, merchant_id: merchantId }, 'cannot index an inbox; will retry');
      return 0;
    }
  }

  const stopListening = database.listen(CHANGES, lookSoon);
  const poll = setInterval(lookSoon, POLL_MS).unref();
  lookSoon();
  return {
    async stop() {
      stopped = true;
      stopListening();
      clearInterval(poll);
      clearTimeout(timer);
      await running;
    },
  };
}

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
