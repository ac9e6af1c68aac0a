import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { type AttentionContext, WAITING_MAX_MS } from '../attention.ts';
import { type DeliveryState, NO_NOTIFICATION } from './table.ts';

/** Messages that need a person. Of several that answer a notification, only the newest one counts. */

export interface AttentionRow {
  id: number;
  /** 0 if it answers none. */
  notification_id: number;
  state: DeliveryState;
  recipient: string;
  waiting_for: string | null;
  reason: string | null;
  last_code: string | null;
  due_at: string;
  created_at: string;
  updated_at: string;
  requeued_at: string | null;
}

const COLUMNS = `d.id, d.notification_id, d.state, d.recipient, d.waiting_for, d.reason, d.last_code, d.due_at, d.created_at,
  d.updated_at, d.requeued_at`;

// Not with `exists`: after an `or`, PostgreSQL would read the whole table for it once.
const IS_NEWEST = `(d.notification_id = ${NO_NOTIFICATION} or (select e.id from deliveries e where e.merchant_id = $1
  and e.notification_id = d.notification_id and e.endpoint_id = 0 and e.id > d.id limit 1) is null)`;

/** SQL: the message `d` answers no notification. */
export const IS_DIRECT = `d.notification_id = ${NO_NOTIFICATION}`;

/** The newest message of each of these notifications. */
export async function findNewestMessages(
  queries: Queries,
  merchantId: MerchantId,
  notificationIds: readonly number[],
): Promise<Map<number, AttentionRow>> {
  const rows = await queries.all<AttentionRow>(
    `select ${COLUMNS} from deliveries d where ${ownIdIn(queries, '$1', '$2', 'notification_id')}
      and d.endpoint_id = 0 order by d.id`,
    [merchantId, notificationIds],
  );
  return new Map(rows.map((row) => [row.notification_id, row]));
}

/** A message to a customer, and its conversation. */
export function findMessage(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<(AttentionRow & { conversation_id: number }) | undefined> {
  return queries.one(
    `select ${COLUMNS}, d.conversation_id from deliveries d
      where d.merchant_id = $1 and d.id = $2 and d.endpoint_id = 0`,
    [merchantId, id],
  );
}

export interface AttentionPage {
  /** Only after this message, in this order. */
  after: number | undefined;
  order: 'asc' | 'desc';
  limit: number;
  /** SQL: which messages `d` are wanted. The merchant is $1, as in `about`. */
  condition: string;
  /** SQL: the notification that a message `d` is about. */
  about: string;
}

/** The notification that it is about, to open it with. */
export interface ListedMessage extends AttentionRow {
  about: number | null;
}

type Kind = 'failed' | 'open';

/** In the order of the messages. Each state is read in the order of its index. */
export function listAttention(
  queries: Queries,
  merchantId: MerchantId,
  { at, channel }: AttentionContext,
  page: AttentionPage,
  kinds: readonly Kind[] = ['failed', 'open'],
): Promise<ListedMessage[]> {
  const isAfter = page.order === 'desc' ? '<' : '>';
  const waiting = 'coalesce(d.requeued_at, d.created_at) <= $2';
  const states: [state: DeliveryState, condition: string][] = [
    ...(kinds.includes('failed') ? [['failed', 'true'] as [DeliveryState, string]] : []),
    ...(kinds.includes('open')
      ? ([
          ['queued', channel === 'stopped' ? 'true' : waiting],
          ['waiting', channel === 'stopped' ? 'true' : waiting],
          ['sending', waiting],
        ] as [DeliveryState, string][])
      : []),
  ];
  const branches = states.map(
    ([state, condition]) => `select * from (select ${COLUMNS}, ${page.about} as about from deliveries d
      where d.merchant_id = $1 and d.endpoint_id = 0 and d.state = '${state}' and d.id ${isAfter} $3
        and ${condition} and ${IS_NEWEST} and ${page.condition}
      order by d.id ${page.order} limit $4) ${state}_ones`,
  );
  return queries.all<ListedMessage>(
    `select * from (${branches.join(' union all ')}) found where $2 <> '' order by id ${page.order} limit $4`,
    [
      merchantId,
      new Date(at.getTime() - WAITING_MAX_MS).toISOString(),
      page.after ?? (page.order === 'desc' ? Number.MAX_SAFE_INTEGER : 0),
      page.limit,
    ],
  );
}

interface DirectMessage {
  id: number;
  conversation_id: number;
  text: string;
  sent_by: string | null;
}

/** Messages that somebody wrote without a question, with the beginning of their texts. */
export function readDirect(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  lengthMax: number,
): Promise<DirectMessage[]> {
  return queries.all(
    `select d.id, d.conversation_id, substr(d.content, 1, ${lengthMax}) as text, d.sent_by from deliveries d
      where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );
}
