import type { Author, MerchantId } from '../../contract/ids.ts';
import { NOTIFICATION_TYPES } from '../../contract/notifications.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { notificationNotFound } from '../../errors.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { CANCELLED } from '../asks/end.ts';
import { KINDS, readContext, type WithContext } from '../kinds.ts';
import { type PendingRow, type Question, questionOf } from './question.ts';

/** Only the newest notifications are compared. */
const PENDING_MAX = 1000;
/** What is larger is not compared. A slice of rows must be short for SQLite, which blocks everybody. */
const CONTEXT_MAX_BYTES = 16 * 1024;
const READ_AT_ONCE = 32;

/** What customers want a person for is answered one by one. */
const TYPES = NOTIFICATION_TYPES.filter((type) => KINDS[type].teaches);
const IS_QUESTION = `notification_type in ('${TYPES.join("', '")}')`;

/** The newest pending notifications, in the order of their ids. */
export async function listPending(
  queries: Queries,
  merchantId: MerchantId,
): Promise<{ id: number; ungrouped: number }[]> {
  const rows = await queries.all<{ id: number; ungrouped: number }>(
    // Not a join, for which PostgreSQL may read all of the merchant's decisions.
    `select n.id, coalesce((select 1 from ungrouped_notifications u
        where u.merchant_id = $1 and u.notification_id = n.id), 0) as ungrouped
      from notifications n where n.merchant_id = $1 and n.status = 'requested' order by n.id desc limit ${PENDING_MAX}`,
    [merchantId],
  );
  return rows.reverse();
}

export type QuestionState = 'pending' | 'answered' | 'resolved';

/** The newest questions, in the order of their ids. What the assistant cancelled is not among them. */
export async function listRecent(
  queries: Queries,
  merchantId: MerchantId,
): Promise<{ id: number; state: QuestionState; ungrouped: number }[]> {
  const rows = await queries.all<{ id: number; state: QuestionState | 'cancelled'; ungrouped: number }>(
    `select n.id, case when n.answer is null then 'pending' when n.answer = '${CANCELLED}' then 'cancelled'
          else n.outcome end as state,
        coalesce((select 1 from ungrouped_notifications u
          where u.merchant_id = $1 and u.notification_id = n.id), 0) as ungrouped
      from notifications n where n.merchant_id = $1 order by n.id desc limit ${PENDING_MAX}`,
    [merchantId],
  );
  return rows.flatMap(({ state, ...row }) => (state === 'cancelled' ? [] : [{ ...row, state }])).reverse();
}

/** Those of them that are questions and not too large. */
export async function readQuestions(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Map<number, Question>> {
  const found = new Map<number, Question>();
  const pause = inSlices();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const rows = await queries.all<PendingRow>(
      `select id, conversation_id, created_at, notification_type, context from notifications
        where ${ownIdIn(queries, '$1', '$2')} and ${IS_QUESTION} and octet_length(context) <= ${CONTEXT_MAX_BYTES}`,
      [merchantId, ids.slice(from, from + READ_AT_ONCE)],
    );
    for (const row of rows) {
      found.set(row.id, questionOf(row));
      await pause();
    }
  }
  return found;
}

/** Those of them that are pending. */
export async function listRequested(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(
    `select id from notifications where ${ownIdIn(queries, '$1', '$2')} and status = 'requested'`,
    [merchantId, ids],
  );
  return rows.map(({ id }) => id);
}

/** The contexts of those that are answered already. */
export function readAnswered(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<(WithContext & { id: number })[]> {
  return queries.all(
    `select id, notification_type, context from notifications where ${ownIdIn(queries, '$1', '$2')} and status = 'answered'
      and ${IS_QUESTION} order by id`,
    [merchantId, ids],
  );
}

/** What its customer asked. */
export async function findQuestion(queries: Queries, merchantId: MerchantId, id: number): Promise<string> {
  const row = await queries.one<WithContext>(
    'select notification_type, context from notifications where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!row) throw notificationNotFound();
  return readContext(row).question;
}

/** From now on it is in no group. The notification must be locked. */
export async function ungroup(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { author, at }: { author: Author; at: Date },
): Promise<void> {
  await tx.run(
    `insert into ungrouped_notifications (merchant_id, notification_id, user_id, key_id, created_at)
      values ($1, $2, $3, $4, $5) on conflict (merchant_id, notification_id) do nothing`,
    [merchantId, id, author.userId, author.keyId, at.toISOString()],
  );
}

export async function regroup(tx: Transaction, merchantId: MerchantId, id: number): Promise<void> {
  await tx.run('delete from ungrouped_notifications where merchant_id = $1 and notification_id = $2', [
    merchantId,
    id,
  ]);
}
