import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { removeNotifications } from './retention.ts';

/** Removes a customer's notifications, asks and stored responses. */

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

/**
 * The next notifications of a conversation, with what is needed to find the person elsewhere. Nobody answers or changes
 * them until the transaction ends.
 */
export async function lockNotifications(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  limit: number,
): Promise<ErasedNotification[]> {
  const locked = tx.engine === 'postgres' ? 'for update' : '';
  const rows = await tx.all<{ id: number; context: string }>(
    `select id, context from notifications where merchant_id = $1 and conversation_id = $2
      order by id limit $3 ${locked}`,
    [merchantId, conversationId, limit],
  );
  return rows.map(({ id, context }) => {
    const { question, support_request_reason: reason, lead_phone: phone } = JSON.parse(context);
    const text = typeof question === 'string' ? question : typeof reason === 'string' ? reason : '';
    return { id, question: text, leadPhone: typeof phone === 'string' ? phone : undefined };
  });
}

/** Removes notifications that the caller has locked, for good, with their asks. */
export async function removeForGood(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<void> {
  await tx.run(`delete from asks where ${ownIdIn(tx.engine, '$1', '$2')}`, [merchantId, ids]);
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
    `select id, conversation_id from notifications where ${ownIdIn(queries.engine, '$1', '$2')}`,
    [merchantId, ids],
  );
  const others = rows.filter(({ conversation_id }) => !conversationIds.includes(conversation_id));
  return new Set(others.map(({ id }) => id));
}

/** Asks whose notifications were deleted before. Returns how many: if that is the limit, there may be more. */
export async function eraseAsks(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  limit: number,
): Promise<number> {
  const rows = await queries.run(
    `delete from asks where merchant_id = $1 and id in (
        select id from asks where merchant_id = $1 and conversation_id = $2 order by id limit $3)
      returning id`,
    [merchantId, conversationId, limit],
  );
  return rows.length;
}

const PAGE = 200;

export interface StoredResponse {
  key: string;
  outcome: string;
  created_at: string;
}

async function* storedResponses(
  database: Database,
  merchantId: MerchantId,
  pause: () => Promise<void>,
): AsyncGenerator<StoredResponse> {
  for (let last = ''; ; ) {
    const rows = await database.all<StoredResponse>(
      `select key, outcome, created_at from idempotency_keys where merchant_id = $1 and key > $2
        order by key limit ${PAGE}`,
      [merchantId, last],
    );
    yield* rows;
    if (rows.length < PAGE) return;
    last = rows.at(-1)!.key;
    await pause();
  }
}

/** The stored responses that are about the person. A repeated request then runs again. */
export async function eraseStoredResponses(
  database: Database,
  merchantId: MerchantId,
  isTheirs: (stored: StoredResponse) => boolean,
  pause: () => Promise<void>,
): Promise<void> {
  for await (const stored of storedResponses(database, merchantId, pause))
    if (isTheirs(stored))
      await database.run('delete from idempotency_keys where merchant_id = $1 and key = $2', [
        merchantId,
        stored.key,
      ]);
}

/** Replaces the name of somebody who was deleted. A customer may have the same one. */
export async function renameInResponses(
  database: Database,
  merchantId: MerchantId,
  { name, to }: { name: string; to: string },
  pause: () => Promise<void>,
): Promise<void> {
  const quoted = JSON.stringify(name).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const pattern = new RegExp(`(?<!"customer_name"):${quoted}`, 'g');
  for await (const { key, outcome } of storedResponses(database, merchantId, pause)) {
    const renamed = outcome.replace(pattern, () => `:${JSON.stringify(to)}`);
    if (renamed !== outcome)
      await database.run('update idempotency_keys set outcome = $3 where merchant_id = $1 and key = $2', [
        ...[merchantId, key, renamed],
      ]);
  }
}
