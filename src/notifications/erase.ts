import type { PersonName } from '../auth/people.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../database/ids.ts';
import { insertRows } from '../database/insert.ts';
import { removeNotifications } from './retention.ts';
import { lockNotification } from './store.ts';
import { replaceMentions } from './team/mentions.ts';
import { countNotes, noteBytes } from './team/store.ts';

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

/** Changes the outcomes of stored responses. Keys stay until they expire, so that no repeated request acts again. */
export async function rewriteResponses(
  database: Database,
  merchantId: MerchantId,
  pause: () => Promise<void>,
  rewrite: (outcome: string) => string | Promise<string>,
): Promise<void> {
  for (let last = ''; ; ) {
    const rows = await database.all<{ key: string; outcome: string }>(
      `select key, outcome from idempotency_keys where merchant_id = $1 and key > $2 order by key limit ${PAGE}`,
      [merchantId, last],
    );
    for (const { key, outcome } of rows) {
      const after = await rewrite(outcome);
      if (after !== outcome)
        await database.run(
          'update idempotency_keys set outcome = $3 where merchant_id = $1 and key = $2 and outcome = $4',
          [merchantId, key, after, outcome],
        );
      await pause();
    }
    if (rows.length < PAGE) return;
    last = rows.at(-1)!.key;
  }
}

export async function noteExists(queries: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const sql = 'select id from notification_notes where merchant_id = $1 and id = $2';
  return (await queries.one(sql, [merchantId, id])) !== undefined;
}

/** Somebody who was deleted, and the name that histories show instead. */
interface Former {
  userId: number;
  name: string;
  to: string;
  /** Whether nobody else of the merchant has this name. */
  isUnique: boolean;
}

/** Replaces the name where notes call somebody who was deleted. */
export async function renameInNotes(
  database: Database,
  merchantId: MerchantId,
  { userId, name, to, isUnique }: Former,
  pause: () => Promise<void>,
): Promise<void> {
  for (let last = 0; ; ) {
    const rows = await database.all<{ id: number; text: string; mentions: string }>(
      `select id, text, mentions from notification_notes where merchant_id = $1 and id > $2 order by id limit ${PAGE}`,
      [merchantId, last],
    );
    for (const { id, text, mentions } of rows) {
      const isMentioned = (JSON.parse(mentions) as number[]).includes(userId);
      if (!text.includes('@') || !(isMentioned || isUnique)) continue;
      const renamed = replaceMentions(text, { name, to, firstNameToo: isMentioned });
      if (renamed !== text)
        await database.transaction((tx) => replaceNote(tx, merchantId, id, { from: text, to: renamed }));
      await pause();
    }
    if (rows.length < PAGE) return;
    last = rows.at(-1)!.id;
    await pause();
  }
}

async function replaceNote(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const note = await tx.one<{ notification_id: number }>(
    'select notification_id from notification_notes where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!note || !(await lockNotification(tx, { merchantId, id: note.notification_id }))) return;
  const changed = await tx.run(
    'update notification_notes set text = $4 where merchant_id = $1 and id = $2 and text = $3 returning id',
    [merchantId, id, from, to],
  );
  if (changed.length === 0) return;
  await countNotes(tx, merchantId, note.notification_id, noteBytes(to) - noteBytes(from));
  // Also if both are of the same length.
  await insertRows(tx, 'inbox_changes', [{ merchant_id: merchantId, ...note }]);
}

/** What the routes store for repeated requests, as far as it names colleagues. */
interface NamingOutcome {
  done?: {
    body?: { taken_over_by?: string | null };
    asked?: { takenOver?: { by: string | null } | null };
    note?: { text: string; author: PersonName | null; mentions: PersonName[] };
  };
}

/** Replaces the name of somebody who was deleted. A customer may have the same one. */
export function renameInResponses(
  database: Database,
  merchantId: MerchantId,
  { userId, name, to, isUnique }: Former,
  pause: () => Promise<void>,
): Promise<void> {
  return rewriteResponses(database, merchantId, pause, (text) => {
    const outcome = JSON.parse(text) as NamingOutcome;
    const { body, asked, note } = outcome.done ?? {};
    if (isUnique && body?.taken_over_by === name) body.taken_over_by = to;
    if (isUnique && asked?.takenOver?.by === name) asked.takenOver.by = to;
    if (note) {
      const isMentioned = note.mentions.some(({ id }) => id === userId);
      if (isMentioned || isUnique)
        note.text = replaceMentions(note.text, { name, to, firstNameToo: isMentioned });
      for (const person of [note.author, ...note.mentions]) if (person?.id === userId) person.name = to;
    }
    const renamed = JSON.stringify(outcome);
    return renamed === JSON.stringify(JSON.parse(text)) ? text : renamed;
  });
}
