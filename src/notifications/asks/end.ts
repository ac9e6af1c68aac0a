import { recordEvent, type Who } from '../../audit/record.ts';
import { namedAuthor } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { logEvents } from '../../events/record.ts';
import { markAnswered } from '../answers/mark.ts';
import { notificationEvent } from '../event.ts';
import { lockNotification, touchNotification } from '../store.ts';
import { endAsk } from './store.ts';

/** The two ways in which an assistant stops waiting, and what its notification shows of them. */

/** Shown as the answer: why the question is gone from the inbox. */
export const CANCELLED = JSON.stringify({ cancelled: true });

/** The assistant cancels its question. False if it has ended before. */
export async function cancel(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { author, who, at }: { author: Author; who: Who; at: Date },
): Promise<boolean> {
  const notification = await lockNotification(tx, { merchantId, id, author });
  if (notification?.status !== 'requested') return false;
  const by = notification.author_name;
  const { author: answeredBy } = namedAuthor(author, by);
  await markAnswered(tx, merchantId, id, { answer: CANCELLED, answeredBy, at });
  await endAsk(tx, merchantId, id, { status: 'cancelled', by, at });
  await logEvents(tx, merchantId, [notificationEvent(notification, 'cancelled', at)]);
  const about = { notification_id: id };
  await recordEvent(tx, { what: 'notification.cancelled', merchantId, who, at, about });
  return true;
}

/** Nobody waits for the answer any more. The notification stays in the inbox and counts as changed. */
export function expire(database: Database, merchantId: MerchantId, id: number, at: Date): Promise<boolean> {
  return database.transaction(async (tx) => {
    // Several processes may look at it at this moment: what follows sees what the one before has done.
    const pending = await lockNotification(tx, { merchantId, id });
    if (pending?.status !== 'requested') return false;
    // Not if the customer has asked again meanwhile.
    const expired = await tx.run(
      `update asks set status = 'expired'
        where merchant_id = $1 and id = $2 and status = 'waiting' and expires_at <= $3 returning id`,
      [merchantId, id, at.toISOString()],
    );
    if (expired.length === 0) return false;
    await touchNotification(tx, merchantId, id, at);
    await logEvents(tx, merchantId, [notificationEvent(pending, 'expired', at)]);
    return true;
  });
}
