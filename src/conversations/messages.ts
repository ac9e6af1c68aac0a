import { randomBytes } from 'node:crypto';
import type { ThreadMessage } from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Engine, Queries, Transaction } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';
import { idIn, ownIdIn } from '../database/ids.ts';
import { canBeTakenBack, listSentIn, type SentMessage } from '../delivery/queue/deliveries.ts';
import { conversationNotFound } from '../errors.ts';
import type { NewMessage } from './rules.ts';

/** What was said in a conversation: the only SQL on conversation_messages. */

/** What a message takes besides its texts. The triggers count with the same number. */
const ROW_BYTES = 200;

export const bytesOf = (messages: readonly NewMessage[]): number =>
  messages.reduce(
    (sum, { text, messageId }) =>
      sum + Buffer.byteLength(text) + Buffer.byteLength(messageId ?? '') + ROW_BYTES,
    0,
  );

/** The elements of the JSON array in $3, each as `value`. */
const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'json_each($3)',
  postgres: 'json_array_elements($3::json) as elements (value)',
};

/** Returns how many were stored: the others were known. */
export async function insertMessages(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  messages: readonly NewMessage[],
  at: Date,
): Promise<number> {
  const rows = await queries.run(
    `insert into conversation_messages (merchant_id, conversation_id, sender, text, at, message_id, created_at)
      select $1, $2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, $4 from ${ELEMENTS[queries.engine]} where true
      on conflict (merchant_id, conversation_id, message_id) where message_id is not null do nothing
      returning id`,
    [
      merchantId,
      conversationId,
      JSON.stringify(
        messages.map(({ from, text, at, messageId }) => [from, text, at.toISOString(), messageId]),
      ),
      at.toISOString(),
    ],
  );
  return rows.length;
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

/** Counts a message to the customer that answers no notification. Such messages are never removed. */
export async function countSent(tx: Queries, merchantId: MerchantId, bytes: number): Promise<void> {
  await tx.run(
    `insert into conversation_storage (merchant_id, bytes) values ($1, $2)
      on conflict (merchant_id) do update set bytes = conversation_storage.bytes + excluded.bytes
      returning merchant_id`,
    [merchantId, bytes],
  );
}

export const bytesOfSent = (text: string) => Buffer.byteLength(text) + ROW_BYTES;

/** For changes that no trigger sees. */
export async function renewVersion(tx: Queries, merchantId: MerchantId): Promise<void> {
  await tx.run(
    `insert into conversation_storage (merchant_id, bytes, version) values ($1, 0, $2)
      on conflict (merchant_id) do update set version = excluded.version returning merchant_id`,
    [merchantId, randomBytes(12).toString('hex')],
  );
}

/** A merchant's version is a new random value after every message, and when a conversation is taken over. */
export async function readConversationVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { conversations: string }>> {
  const rows = await queries.all<{ merchant_id: MerchantId; version: string }>(
    `select merchant_id, version from conversation_storage where ${idIn(queries.engine, 'merchant_id', '$1')}`,
    [merchantIds],
  );
  return new Map(rows.map(({ merchant_id, version }) => [merchant_id, { conversations: version }]));
}

export const expiringMessages = (days: number): Expiring => ({
  table: 'conversation_messages',
  column: 'created_at',
  keptMs: days * 24 * 60 * 60_000,
});
