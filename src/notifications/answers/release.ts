import type { Logger } from 'pino';
import { namedAuthor } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { CHANGES, type Database } from '../../database/database.ts';
import { createHoldCheck } from '../../database/sendingHold.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { recipientOf } from '../recipient.ts';
import { type DueAnswer, findDueMerchants, listDue, postpone, readHeld } from './held.ts';
import { findLesson } from './lessons.ts';
import { markReleased } from './mark.ts';
import { lockWithNewIds, performAnswer, type Settled } from './perform.ts';

const LOOK_EVERY_MS = 500;
const MERCHANTS_AT_ONCE = 100;
/** One merchant's answers do not delay those of others. */
const OF_EACH_AT_ONCE = 20;
/** Merchants are worked off in parallel, the answers of one merchant one after another. */
const LANES = 4;

interface Parts {
  database: Database;
  outbox: Outbox;
  log: Logger;
  now: () => Date;
}

/**
 * Performs the answers that can no longer be undone. Any number of processes may do it: each answer is performed once.
 * What is due is in the database, so nothing is lost if a process ends.
 */
export function releaseAnswers(parts: Parts): { stop(): Promise<void> } {
  const { database, outbox, log, now } = parts;
  let working: Promise<void> | undefined;
  let failing = false;
  let stopped = false;
  const isHeld = createHoldCheck(database);

  /** Returns how many are no longer due. One that fails is retried later, after the others. */
  async function releaseSome(merchantId: MerchantId): Promise<number> {
    let done = 0;
    for (const due of await listDue(database, merchantId, now(), OF_EACH_AT_ONCE)) {
      if (stopped) break;
      try {
        if (await release(database, outbox, merchantId, due)) done += 1;
        failing = false;
      } catch (err) {
        try {
          await postpone(database, merchantId, due, now());
          done += 1;
          // At each attempt: nobody else sees that the customer got nothing. The pauses between them grow.
          log.warn({ err, notification_id: due.id }, 'cannot send a held answer; will retry');
        } catch {
          warn(err);
        }
      }
    }
    return done;
  }

  // Once per outage.
  function warn(err: unknown): void {
    if (!failing) log.warn({ err }, 'cannot send held answers; will retry');
    failing = true;
  }

  async function look(): Promise<void> {
    try {
      for (let done = 1; done > 0 && !stopped; ) {
        done = 0;
        if (await isHeld()) return;
        const merchants = await findDueMerchants(database, now(), MERCHANTS_AT_ONCE);
        const work = async () => {
          for (let next = merchants.shift(); next !== undefined; next = merchants.shift())
            done += await releaseSome(next);
        };
        await Promise.all(Array.from({ length: LANES }, work));
        if (done === 0) return;
        database.signal(CHANGES);
        outbox.announce();
      }
    } catch (err) {
      warn(err);
    }
  }

  const timer = setInterval(() => {
    working ??= look().finally(() => {
      working = undefined;
    });
  }, LOOK_EVERY_MS).unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await working;
    },
  };
}

/** False if another process has performed the answer, or somebody has taken it back or deleted the notification. */
async function release(
  database: Database,
  outbox: Outbox,
  merchantId: MerchantId,
  due: DueAnswer,
): Promise<boolean> {
  const { decision, author: writer, at, recipient: chosen, together } = readHeld(due);
  return database.transaction(async (tx) => {
    const isLearnedTogether =
      together && decision.send !== 'nothing' && decision.learn && decision.documentId === undefined;
    // Two at the same time would make two documents.
    if (isLearnedTogether) await tx.lock(`answer many ${merchantId}`);
    const { notification, newIds } = await lockWithNewIds(tx, { merchantId, id: due.id, author: writer });
    // Or the customer is being erased: nothing is sent or learned any more.
    if (notification?.held !== due.held || notification.erased_at !== null) return false;
    // If another one of them has made the document, this one only adds its question.
    const known = isLearnedTogether
      ? await findLesson(tx, merchantId, together, decision.content)
      : undefined;
    const { teach: _, ...untaught } = { teach: undefined, ...decision };
    const decided = known === undefined ? decision : { ...untaught, documentId: known };
    const recipient = recipientOf(chosen, notification, outbox.defaultCountry);
    const { author } = namedAuthor(writer, notification.author_name);
    await markReleased(tx, merchantId, due.id);
    const settled: Settled = { notification, decision: decided, author, at: new Date(at), recipient };
    await performAnswer(tx, outbox, settled, newIds);
    return true;
  });
}
