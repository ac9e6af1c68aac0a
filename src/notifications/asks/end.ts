import { recordEvent, type Who } from '../../audit/record.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { logStep } from '../../events/record.ts';
import { markAnswered } from '../answers/mark.ts';
import { EVENT_COLUMNS, notificationEvent } from '../event.ts';
import { askIsDue } from './columns.ts';
import { endAskStep } from './endStep.ts';
import { expireStep } from './store.ts';

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
  const mark = markAnswered(merchantId, id, { answer: CANCELLED, answeredBy: author, at });
  const rows = await tx.chain([
    mark,
    endAskStep(merchantId, id, { status: 'cancelled', author, at }, mark.name),
    logStep(notificationEvent(mark.name, 'cancelled')),
  ]);
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
  const rows = await database.chain([
    {
      name: 'touched',
      rows: {
        columns: { merchant_id: 'bigint', id: 'bigint', at: 'text' },
        values: [{ merchant_id: merchantId, id, at: at.toISOString() }],
      },
      sql: `update notifications set updated_at = r.at from touched_rows r
        where notifications.merchant_id = r.merchant_id and notifications.id = r.id and status = 'requested'
          and ${askIsDue('r.merchant_id', 'r.id', 'r.at')}
        returning ${EVENT_COLUMNS}`,
    },
    expireStep(merchantId, id, at),
    logStep(
      notificationEvent('touched', 'expired', {
        joins: 'join expired e on e.merchant_id = n.merchant_id and e.id = n.id',
      }),
    ),
  ]);
  return rows.length > 0;
}
