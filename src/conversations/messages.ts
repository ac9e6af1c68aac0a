import type { ThreadMessage } from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';
import { ownIdIn } from '../database/ids.ts';
import { insertRows } from '../database/insert.ts';
import { canBeTakenBack, listSentIn, type SentMessage } from '../delivery/queue/deliveries.ts';
import { conversationNotFound } from '../errors.ts';
import type { NewMessage } from './rules.ts';
import { CONVERSATION_BYTES, freeBytes, newVersion, renewVersion, renewVersionFrom } from './storage.ts';

/** What was said in a conversation: the only SQL on conversation_messages. */

/** What a message takes besides its texts. */
const ROW_BYTES = 200;

export const bytesOf = (messages: readonly NewMessage[]): number =>
  messages.reduce(
    (sum, { text, messageId }) =>
      sum + Buffer.byteLength(text) + Buffer.byteLength(messageId ?? '') + ROW_BYTES,
    0,
  );

/** SQL, of a stored message. */
const BYTES = `octet_length(text) + coalesce(octet_length(message_id), 0) + ${ROW_BYTES} as bytes`;
const sumOf = (rows: readonly { bytes: number }[]) => rows.reduce((sum, { bytes }) => sum + bytes, 0);

const UNLESS_KNOWN = '(merchant_id, conversation_id, message_id) where message_id is not null do nothing';
/** The same text for any number of messages: the databases keep a plan for each text. */
const insertFrom = (elements: string) =>
  `insert into conversation_messages (merchant_id, conversation_id, sender, text, at, message_id, created_at)
    select $1, $2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, $4 from ${elements} where true
    on conflict ${UNLESS_KNOWN} returning ${BYTES}`;
const INSERT_SQLITE = insertFrom('json_each($3)');
/** It also counts: with one statement less, recording a message takes 8% less. */
const INSERT_POSTGRES = `with added as (${insertFrom('json_array_elements(cast($3 as json)) as elements (value)')}),
    counted as (${renewVersionFrom('added', '$5')})
    select 1 from added`;

/** Returns how many were stored: the others were known. */
export async function insertMessages(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  messages: readonly NewMessage[],
  createdAt: Date,
): Promise<number> {
  const list = messages.map(
    ({ from, text, at, messageId }) => [from, text, at.toISOString(), messageId] as const,
  );
  const params = [merchantId, conversationId, JSON.stringify(list), createdAt.toISOString()];
  if (tx.engine === 'postgres' && !tx.isSpread)
    return (await tx.run(INSERT_POSTGRES, [...params, newVersion()])).length;
  const rows = tx.isSpread
    ? await insertRows<{ bytes: number }>(
        tx,
        'conversation_messages',
        list.map(([sender, text, at, message_id]) => ({
          ...{ merchant_id: merchantId, conversation_id: conversationId, sender, text, at, message_id },
          created_at: createdAt.toISOString(),
        })),
        { onConflict: UNLESS_KNOWN, returning: BYTES },
      )
    : await tx.run<{ bytes: number }>(INSERT_SQLITE, params);
  if (rows.length > 0) await renewVersion(tx, merchantId, sumOf(rows));
  return rows.length;
}

/** Removes messages of one conversation, and returns how many: if that is the limit, there may be more. */
export function removeMessages(
  database: Database,
  merchantId: MerchantId,
  conversationId: number,
  limit: number,
): Promise<number> {
  return database.transaction(async (tx) => {
    const rows = await tx.run<{ bytes: number }>(
      `delete from conversation_messages where merchant_id = $1 and id in (
          select id from conversation_messages where merchant_id = $1 and conversation_id = $2
            order by at, id limit $3)
        returning ${BYTES}`,
      [merchantId, conversationId, limit],
    );
    if (rows.length > 0) await renewVersion(tx, merchantId, -sumOf(rows));
    return rows.length;
  });
}

/** For the demo, whose rows are inserted without this feature. */
export async function countConversations(tx: Transaction, merchantId: MerchantId): Promise<void> {
  const conversations = await tx.all('select id from conversations where merchant_id = $1', [merchantId]);
  const messages = await tx.all<{ bytes: number }>(
    `select ${BYTES} from conversation_messages where merchant_id = $1`,
    [merchantId],
  );
  await renewVersion(tx, merchantId, conversations.length * CONVERSATION_BYTES + sumOf(messages));
}

/** Two requests with the same ids in different orders would deadlock: one waits for the other. */
export async function lockConversation(tx: Transaction, merchantId: MerchantId, id: number): Promise<void> {
  const locking = tx.engine === 'postgres' ? 'for no key update' : '';
  const row = await tx.one(
    `select id from conversations where merchant_id = $1 and id = $2 and erased_at is null ${locking}`,
    [merchantId, id],
  );
  if (!row) throw conversationNotFound();
}

/** A place in a thread. At the same time, messages come before what Deskbell sent. */
export interface Position {
  at: string;
  kind: 'm' | 'd';
  id: number;
}

export interface StoredMessage {
  id: number;
  sender: NewMessage['from'];
  text: string;
  at: string;
  message_id: string | null;
}

export interface Entry extends Position {
  wire: ThreadMessage;
}

/** After every row of its time. */
const ID_MAX = Number.MAX_SAFE_INTEGER;

interface ThreadRange {
  after: Position | undefined;
  limit: number;
  /** Without what can still be taken back at this time. */
  settledAt: Date | undefined;
}

/** The next part of a thread, oldest first. */
export async function readThread(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  { after = { at: '', kind: 'm', id: 0 }, limit, settledAt }: ThreadRange,
): Promise<Entry[]> {
  const stored = await queries.all<StoredMessage>(
    `select id, sender, text, at, message_id from conversation_messages
      where merchant_id = $1 and conversation_id = $2 and (at, id) > ($3, $4) order by at, id limit $5`,
    [merchantId, conversationId, after.at, after.kind === 'm' ? after.id : ID_MAX, limit],
  );
  const sentAfter = { at: after.at, id: after.kind === 'd' ? after.id : 0 };
  const sent = await listSentIn(queries, merchantId, conversationId, { after: sentAfter, limit });
  const shown = settledAt ? sent.filter((message) => !canBeTakenBack(message, settledAt)) : sent;
  return [...stored.map(ofMessage), ...shown.map(ofDelivery)].sort(inOrder).slice(0, limit);
}

/** For a kind, 'm' comes before 'd'. */
const inOrder = (a: Entry, b: Entry) => {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  if (a.kind !== b.kind) return a.kind === 'm' ? -1 : 1;
  return a.id - b.id;
};

const ofMessage = ({ id, sender, text, at, message_id }: StoredMessage): Entry => ({
  ...{ at, kind: 'm', id },
  wire: { id: `m${id}`, from: sender, text, at, message_id, notification_id: null, delivery: null },
});

const ofDelivery = ({
  id,
  content,
  state,
  created_at,
  channel_message_id,
  notification_id,
}: SentMessage): Entry => ({
  ...{ at: created_at, kind: 'd', id },
  wire: {
    ...{ id: `d${id}`, from: 'merchant', text: content, at: created_at, message_id: channel_message_id },
    notification_id,
    delivery: { id, state },
  },
});

/** The last messages before a time, newest first. */
export function listMessagesBefore(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  { before, limit }: { before: { at: string; id: number }; limit: number },
): Promise<StoredMessage[]> {
  return queries.all<StoredMessage>(
    `select id, sender, text, at, message_id from conversation_messages
      where merchant_id = $1 and conversation_id = $2 and (at, id) < ($3, $4) order by at desc, id desc limit $5`,
    [merchantId, conversationId, before.at, before.id, limit],
  );
}

/** Those of these messages that are in the conversation. */
export async function findMessages(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  ids: readonly number[],
): Promise<StoredMessage[]> {
  if (ids.length === 0) return [];
  return queries.all<StoredMessage>(
    `select id, sender, text, at, message_id from conversation_messages
      where ${ownIdIn(queries, '$1', '$2')} and conversation_id = $3`,
    [merchantId, ids, conversationId],
  );
}

/** What a message to the customer takes that answers no notification. */
export const bytesOfSent = (text: string) => Buffer.byteLength(text) + ROW_BYTES;

export const expiringMessages = (days: number): Expiring => ({
  table: 'conversation_messages',
  column: 'created_at',
  keptMs: days * 24 * 60 * 60_000,
  counted: { bytes: BYTES, free: freeBytes },
});
