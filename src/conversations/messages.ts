import type { ThreadMessage } from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { insertRows } from '../database/insert.ts';
import { bytesSql } from '../database/tables.ts';
import { canBeTakenBack, listSentIn, type SentMessage } from '../delivery/queue/deliveries.ts';
import { conversationNotFound } from '../errors.ts';
import type { NewMessage } from './rules.ts';
import { CONVERSATION_BYTES, renewVersion } from './storage.ts';
import { CONVERSATION_MESSAGES } from './tables.ts';

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
const BYTES = `${bytesSql(CONVERSATION_MESSAGES)} as bytes`;
const sumOf = (rows: readonly { bytes: number }[]) => rows.reduce((sum, { bytes }) => sum + bytes, 0);

const UNLESS_KNOWN = '(merchant_id, conversation_id, message_id) where message_id is not null do nothing';

/** Returns how many were stored: the others were known. */
export async function insertMessages(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  messages: readonly NewMessage[],
  createdAt: Date,
): Promise<number> {
  const rows = await insertRows<{ bytes: number }>(
    tx,
    'conversation_messages',
    messages.map(({ from, text, at, messageId }) => ({
      ...{ merchant_id: merchantId, conversation_id: conversationId, sender: from, text },
      ...{ at: at.toISOString(), message_id: messageId, created_at: createdAt.toISOString() },
    })),
    { onConflict: UNLESS_KNOWN, returning: BYTES },
  );
  if (rows.length > 0) await renewVersion(tx, merchantId, sumOf(rows));
  return rows.length;
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
