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
const WORDS_MAX_MS = 10;

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
        const merchantId = await findChanged(database, after);
        if (merchantId !== undefined) {
          done += await indexOne(merchantId);
          after = merchantId;
          continue;
        }
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
    const batchMax = BATCH_MAX[tx.engine];
    const changes = await listChanges(tx, merchantId, batchMax);
    const idsOf = new Map<number, number[]>();
    for (const { seq, notification_id, conversation_id, after_id } of changes) {
      const page = { conversationId: conversation_id ?? 0, afterId: after_id, limit: batchMax };
      idsOf.set(
        seq,
        notification_id === null ? await listOfConversation(tx, merchantId, page) : [notification_id],
      );
      if ([...idsOf.values()].flat().length >= batchMax) break;
    }
    const texts = await readTexts(tx, merchantId, [...new Set([...idsOf.values()].flat())], { lock: true });

    const startedAt = performance.now();
    const words = new Map<number, ReadonlySet<string>>();
    const finished: number[] = [];
    let continued = 0;
    for (const { seq, conversation_id } of changes) {
      const ids = idsOf.get(seq);
      if (!ids || (words.size > 0 && performance.now() - startedAt > WORDS_MAX_MS)) break;
      for (const id of ids) {
        const found = texts.get(id);
        if (found && !words.has(id)) words.set(id, indexedWordsOf(found));
      }
      const isCut = conversation_id !== null && ids.length === batchMax;
      if (!isCut) finished.push(seq);
      else {
        await continueChange(tx, merchantId, seq, ids.at(-1)!);
        continued += 1;
      }
    }
    await writeWords(tx, merchantId, words);
    await removeChanges(tx, merchantId, finished);
    return finished.length + continued;
  });
