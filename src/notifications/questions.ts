import { authorNameOf } from '../auth/columns.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType, Status } from '../contract/notifications.ts';
import type { Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { isSent } from '../delivery/queue/deliveries.ts';
import { KINDS, readContext } from './kinds.ts';

/** Notifications as turns of their conversation. */

interface Row {
  id: number;
  notification_type: NotificationType;
  status: Status;
  created_at: string;
  updated_at: string;
  context: string;
  answer: string | null;
  outcome: 'answered' | 'resolved' | null;
  undo_until: string | null;
  answered_by: string | null;
  is_sent: number | null;
}

const COLUMNS = `id, notification_type, status, created_at, updated_at, context, answer, outcome, undo_until,
  ${authorNameOf('$1', 'notifications.answered_by', 'notifications.answered_by_key')} as answered_by,
  ${isSent('$1', 'notifications.id')} as is_sent`;

/** Newest first. */
async function before(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  { before: { at, id }, limit }: { before: { at: string; id: number }; limit: number },
) {
  const rows = await queries.all<Row>(
    `select ${COLUMNS} from notifications where merchant_id = $1 and conversation_id = $2
      and (created_at, id) < ($3, $4) order by created_at desc, id desc limit $5`,
    [merchantId, conversationId, at, id, limit],
  );
  return rows.map(questionOf);
}

async function byIds(queries: Queries, merchantId: MerchantId, ids: readonly number[]) {
  if (ids.length === 0) return [];
  const rows = await queries.all<Row>(
    `select ${COLUMNS} from notifications where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );
  return rows.map(questionOf);
}

export const questions = { before, byIds };

function questionOf(row: Row) {
  const { answeredFields } = KINDS[row.notification_type];
  const answer = JSON.parse(row.answer ?? '{}') as Record<string, unknown>;
  const isAnswered = row.status === 'answered';
  return {
    id: row.id,
    type: row.notification_type,
    text: readContext(row).question,
    at: row.created_at,
    status: row.status,
    outcome: row.outcome,
    undoUntil: row.undo_until,
    answer:
      row.outcome === 'answered' && row.is_sent === null ? String(answer[answeredFields[0]] ?? '') : null,
    answeredBy: isAnswered ? row.answered_by : null,
    answeredAt: isAnswered ? row.updated_at : null,
  };
}
