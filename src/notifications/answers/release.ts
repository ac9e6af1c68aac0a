import { namedAuthor } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { CHANGES, type Database, type Transaction } from '../../database/database.ts';
import { createHoldCheck } from '../../database/sendingHold.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import type { Job } from '../../jobs/job.ts';
import { recipientOf } from '../recipient.ts';
import { findNotification } from '../store.ts';
import { performAnswer, type Settled } from './effects.ts';
import { type DueAnswer, findDueMerchants, listDue, postpone, readHeld } from './held.ts';
import { findLesson } from './lessons.ts';
import { markReleased } from './mark.ts';

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
  const perform = async (queries: Database | Transaction, known?: number) => {
    const notification = await findNotification(queries, { merchantId, id: due.id, author: writer });
    // The customer is being erased: nothing is sent or learned any more.
    if (!notification || notification.erased_at !== null) return false;
    // If another one of them has made the document, this one only adds its question.
    const { teach: _, ...untaught } = { teach: undefined, ...decision };
    const decided = known === undefined ? decision : { ...untaught, documentId: known };
    const recipient = recipientOf(chosen, notification, outbox.defaultCountry);
    const { author } = namedAuthor(writer, notification.author_name);
    const settled: Settled = { notification, decision: decided, author, at: new Date(at), recipient };
    const mark = markReleased(merchantId, due.id, due.held);
    return (await performAnswer(queries, outbox, merchantId, mark, settled)).won;
  };
  if (!together || decision.send === 'nothing' || !decision.learn || decision.documentId !== undefined)
    return perform(database);
  return database.transaction(async (tx) => {
    // Two at the same time would make two documents.
    await tx.lock(`answer many ${merchantId}`);
    return perform(tx, await findLesson(tx, merchantId, together, decision.content));
  });
}
