import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType, Status } from '../contract/notifications.ts';
import { customerNameOf } from '../conversations/columns.ts';
import type { Queries } from '../database/database.ts';
import { readContext } from './kinds.ts';

/** What an alert says about a notification. */
export interface Brief {
  status: Status;
  /** What the customer asked, or why they want a person. */
  question: string;
  customer: string;
  assignedTo: number | null;
}

export async function readBrief(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<Brief | undefined> {
  const row = await queries.one<{
    status: Status;
    notification_type: NotificationType;
    context: string;
    assigned_to: number | null;
    customer: string;
  }>(
    `select n.status, n.notification_type, n.context, n.assigned_to, ${customerNameOf('n', '$1')} as customer
      from notifications n where n.merchant_id = $1 and n.id = $2`,
    [merchantId, id],
  );
  if (!row) return undefined;
  const { status, assigned_to: assignedTo, customer } = row;
  return { status, question: readContext(row).question, customer, assignedTo };
}

const COUNTED_MAX = 1000;

/** How many are pending, at most a thousand, and when the first one after `since` was raised. */
export async function countPending(
  queries: Queries,
  merchantId: MerchantId,
  since: string,
): Promise<{ count: number; first: string | null }> {
  const row = await queries.one<{ count: number; first: string | null }>(
    `select count(*) as count, min(case when created_at > $2 then created_at end) as first from (
        select created_at from notifications where merchant_id = $1 and status = 'requested'
          order by id desc limit ${COUNTED_MAX}) pending`,
    [merchantId, since],
  );
  return row!;
}
