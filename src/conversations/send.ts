import { findAuthor } from '../auth/columns.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import { type SendBody, UNDO_MAX_SECONDS } from '../contract/timeline.ts';
import { type Database, inTransaction, type Transaction } from '../database/database.ts';
import type { Sending, SendingTo } from '../delivery/channels/windows.ts';
import type { CountryCode } from '../delivery/phone.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import { conversationNotFound, customerChanged, customerUnreachable, windowClosed } from '../errors.ts';
import type { Storage } from '../merchants/storage.ts';
import { bytesOfSent } from './messages.ts';
import { findQuoted } from './quote.ts';
import { reachablePhone } from './reach.ts';
import { countBytes } from './storage.ts';
import { findConversation } from './store.ts';

/** A message that a person writes to the customer: after an answer, or first. */

export interface SendParts {
  database: Database;
  outbox: Outbox;
  storage: Storage;
  sendingTo: SendingTo;
  defaultCountry: CountryCode | undefined;
}

/** The customer's number, and how a message would be sent to it. */
export interface Reach {
  phone: string;
  sending: Sending;
}

/** Asks the channel, so it comes before the transaction. Undefined if the customer cannot be reached. */
export async function reachOf(
  { database, sendingTo, defaultCountry }: SendParts,
  merchantId: MerchantId,
  conversationId: number,
): Promise<Reach | undefined> {
  const conversation = await findConversation(database, merchantId, conversationId);
  if (!conversation) return undefined;
  const phone = await reachablePhone(database, merchantId, conversation, defaultCountry);
  return phone === undefined ? undefined : { phone, sending: await sendingTo(merchantId, phone) };
}

interface Message {
  conversationId: number;
  body: SendBody;
  reach: Reach | undefined;
  author: Author;
  at: Date;
}

/** Puts the message into the queue, or throws the reason for refusing. The server alone decides who receives it. */
export function sendMessage(
  queries: Database | Transaction,
  { outbox, storage, defaultCountry }: SendParts,
  merchantId: MerchantId,
  { conversationId, body, reach, author, at }: Message,
): Promise<{ deliveryId: number; undoUntil: Date | undefined }> {
  return inTransaction(queries, async (tx) => {
    const conversation = await findConversation(tx, merchantId, conversationId);
    if (!conversation) throw conversationNotFound();
    const phone = await reachablePhone(tx, merchantId, conversation, defaultCountry);
    if (phone === undefined) throw customerUnreachable();
    // What the channel said is about another number.
    if (reach?.phone !== phone) throw customerChanged();
    if (reach.sending.form === undefined) throw windowClosed(reach.sending.lastWroteAt);
    const { reply_to: quoted } = body;
    const replyTo = quoted != null ? await findQuoted(tx, merchantId, conversationId, quoted) : undefined;
    const { name: sentBy } = await findAuthor(tx, merchantId, author);
    const bytes = bytesOfSent(body.text);
    await storage.reserve(tx, merchantId, bytes);
    await countBytes(tx, merchantId, bytes);
    const undoSeconds = Math.min(body.undo_seconds ?? 0, UNDO_MAX_SECONDS);
    const undoUntil = undoSeconds > 0 ? new Date(at.getTime() + undoSeconds * 1000) : undefined;
    const deliveryId = await outbox.send(tx, merchantId, {
      conversationId,
      reference: conversation.reference,
      recipient: phone,
      country: null,
      content: body.text,
      at,
      dueAt: undoUntil,
      sentBy,
      replyTo,
    });
    if (deliveryId === undefined) throw customerUnreachable();
    return { deliveryId, undoUntil };
  });
}
