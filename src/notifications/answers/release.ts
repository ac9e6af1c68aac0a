import { namedAuthor } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { CHANGES, type Database } from '../../database/database.ts';
import { createHoldCheck } from '../../database/sendingHold.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import type { Job } from '../../jobs/job.ts';
import { recipientOf } from '../recipient.ts';
import { type DueAnswer, findDueMerchants, listDue, postpone, readHeld } from './held.ts';
import { findLesson } from './lessons.ts';
import { markReleased } from './mark.ts';
import { lockWithNewIds, performAnswer, type Settled } from './perform.ts';

const MERCHANTS_AT_ONCE = 100;
/** One merchant's answers do not delay those of others. */
const OF_EACH_AT_ONCE = 20;

interface Parts {
  database: Database;
  outbox: Outbox;
  now: () => Date;
}

/**
 * Performs the answers that can no longer be undone. Any number of processes may do it: each answer is performed once.
 * What is due is in the database, so nothing is lost if a process ends.
 */
export function releaseAnswers({ database, outbox, now }: Parts): Job {
  const isHeld = createHoldCheck(database);
  return {
    name: 'held answers',
    purpose: 'send a held answer',
    everyMs: 500,
    lanes: 4,
    async due({ at, after }) {
      if (await isHeld()) return [];
      return findDueMerchants(database, { at, after: after?.merchant_id ?? 0, limit: MERCHANTS_AT_ONCE });
    },
    /** One that fails is retried later, after the others. */
    async run({ merchant_id: merchantId }, { signal, failed }) {
      let done = 0;
      for (const due of await listDue(database, merchantId, now(), OF_EACH_AT_ONCE)) {
        if (signal.aborted) break;
        try {
          if (await release(database, outbox, merchantId, due)) done += 1;
        } catch (err) {
          await postpone(database, merchantId, due, now());
          done += 1;
          failed(err, { merchant_id: merchantId, notification_id: due.id });
        }
      }
      if (done === 0) return 'done';
      database.signal(CHANGES);
      outbox.announce();
      return 'more';
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
