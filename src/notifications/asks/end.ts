import { recordEvent, type Who } from '../../audit/record.ts';
import { namedAuthor } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import { defineChange } from '../../database/chain.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { eventsStep } from '../../events/record.ts';
import { markAnswered } from '../answers/mark.ts';
import { notificationEvent, type Told } from '../event.ts';
import { findNotification } from '../store.ts';
import { askIsDue } from './columns.ts';
import { endAskStep } from './endStep.ts';

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
  const notification = await findNotification(tx, { merchantId, id, author });
  if (!notification) return false;
  const by = notification.author_name;
  const rows = await tx.chain({
    gate: markAnswered(merchantId, id, { answer: CANCELLED, answeredBy: namedAuthor(author, by).author, at }),
    steps: [
      endAskStep(merchantId, id, { status: 'cancelled', by, at }),
      eventsStep(merchantId, [notificationEvent(notification, 'cancelled', at)]),
    ],
  });
  if (rows.length === 0) return false;
  const about = { notification_id: id };
  await recordEvent(tx, { what: 'notification.cancelled', merchantId, who, at, about });
  return true;
}

/** Nobody waits for the answer any more. The notification stays in the inbox and counts as changed. */
export async function expire(
  database: Database,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<boolean> {
  const notification = await database.one<Told & { updated_at: string }>(
    'select id, conversation_id, notification_type, updated_at from notifications where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!notification) return false;
  const row = { merchant_id: merchantId, id, at: at.toISOString() };
  const rows = await database.chain({
    gate: { shape: TOUCHED, values: [{ ...row, updated_at: notification.updated_at }] },
    steps: [
      { shape: EXPIRED, values: [row] },
      eventsStep(merchantId, [notificationEvent(notification, 'expired', at)]),
    ],
  });
  return rows.length > 0;
}

const COLUMNS = { merchant_id: 'bigint', id: 'bigint', at: 'text' } as const;
const TOUCHED = defineChange({
  do: 'update',
  table: 'notifications',
  columns: { ...COLUMNS, updated_at: 'text' },
  set: 'updated_at = r.at',
  // Whoever waits for this row while another expires it looks at the row again, but not at the ask.
  where: `notifications.id = r.id and notifications.status = 'requested' and notifications.updated_at = r.updated_at
    and ${askIsDue('r.merchant_id', 'r.id', 'r.at')}`,
});
const EXPIRED = defineChange({
  do: 'update',
  table: 'asks',
  columns: COLUMNS,
  set: `status = 'expired'`,
  where: `asks.id = r.id and asks.status = 'waiting' and asks.expires_at <= r.at`,
});
