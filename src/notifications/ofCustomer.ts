import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../database/ids.ts';
import { removeNotifications } from './retention.ts';

/** A customer's notifications. */

export interface ErasedNotification {
  id: number;
  question: string;
  leadPhone: string | undefined;
}

/** What answers would still do when they can no longer be undone is not done. */
export async function dropHeld(
  tx: Transaction,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<void> {
  for (const conversationId of conversationIds)
    await tx.run(
      // In a form for which no index of held answers is used: they are found by their conversation.
      `update notifications set undo_until = null, held = null
        where merchant_id = $1 and conversation_id = $2 and coalesce(undo_until, '') <> ''`,
      [merchantId, conversationId],
    );
}

/** The first notifications of a conversation, with what is needed to find the person elsewhere. */
export async function listNotifications(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  limit: number,
): Promise<ErasedNotification[]> {
  const rows = await queries.all<{ id: number; context: string }>(
    `select id, context from notifications where merchant_id = $1 and conversation_id = $2
      order by id limit $3`,
    [merchantId, conversationId, limit],
  );
  return rows.map(({ id, context }) => {
    const { question, support_request_reason: reason, lead_phone: phone } = JSON.parse(context);
    const text = typeof question === 'string' ? question : typeof reason === 'string' ? reason : '';
    return { id, question: text, leadPhone: typeof phone === 'string' ? phone : undefined };
  });
}

/** Removes notifications for good, with their asks. Whoever is answering one of them ends first. */
export async function removeForGood(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<void> {
  const own = ownIdIn(tx, '$1', '$2');
  // In the lock order: see `Transaction`.
  await tx.all(`select id from notifications where ${own} order by id ${FOR_UPDATE[tx.engine]}`, [
    merchantId,
    ids,
  ]);
  await tx.run(`delete from asks where ${own}`, [merchantId, ids]);
  await removeNotifications(tx, merchantId, ids);
}

/** Those of these notifications that exist and are of other conversations. */
export async function othersAmong(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  conversationIds: readonly number[],
): Promise<Set<number>> {
  const rows = await queries.all<{ id: number; conversation_id: number }>(
    `select id, conversation_id from notifications where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );
  const others = rows.filter(({ conversation_id }) => !conversationIds.includes(conversation_id));
  return new Set(others.map(({ id }) => id));
}

export async function noteExists(queries: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const sql = 'select id from notification_notes where merchant_id = $1 and id = $2';
  return (await queries.one(sql, [merchantId, id])) !== undefined;
}
