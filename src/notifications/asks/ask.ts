import type { AskBody, Deliver } from '../../contract/asks.ts';
import type { Candidate } from '../../contract/find.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { checkConversation, type NewConversation } from '../../conversations/rules.ts';
import {
  CONVERSATION_BYTES,
  type Conversation,
  findByPhone,
  findByReference,
  findConversation,
  upsertConversation,
} from '../../conversations/store.ts';
import { type Database, inTransaction, type Transaction } from '../../database/database.ts';
import type { CountryCode } from '../../delivery/phone.ts';
import { conversationNotFound, customerRequired, invalid, phoneRequired } from '../../errors.ts';
import type { Storage } from '../../merchants/storage.ts';
import { countryOf, deliverOf } from '../../merchants/store.ts';
import { insertNotification } from '../raise.ts';
import { ROW_BYTES, touchNotification } from '../store.ts';
import type { Question } from './rules.ts';
import { findPendingAsk, insertAsk, waitAgain } from './store.ts';

export interface AskParts {
  storage: Storage;
  /** The country of numbers without a country code, for merchants without their own. */
  defaultCountry: CountryCode | undefined;
}

export type Asked = { known: Candidate; conversationId: number | null } | { id: number; duplicate: boolean };

/** Answers from the knowledge base if it can, otherwise raises the question once. All or nothing. */
export function ask(
  queries: Database | Transaction,
  parts: AskParts,
  merchantId: MerchantId,
  asked: { body: AskBody; question: Question; best: Candidate | undefined; at: Date },
): Promise<Asked> {
  const { body, question, best, at } = asked;
  return inTransaction(queries, async (tx) => {
    const deliver = body.deliver ?? (await deliverOf(tx, merchantId));
    if (best?.confident && body.if_known !== 'raise') {
      const { conversation_id: id } = body;
      if (id !== undefined && !(await findConversation(tx, merchantId, id))) throw conversationNotFound();
      // A mistake must not appear only when an answer is not known.
      if (id === undefined)
        await checkCustomer(tx, parts, merchantId, { body, isSent: deliver === 'deskbell' });
      return { known: best, conversationId: id ?? null };
    }
    const conversation = await conversationOf(tx, parts, merchantId, { body, deliver, at });
    const expiresAt =
      body.expires_in_seconds === undefined
        ? undefined
        : new Date(at.getTime() + body.expires_in_seconds * 1000);
    // The same question of this customer may arrive at the same time.
    await tx.lock(`ask ${merchantId} ${conversation.id}`);
    const pending = await findPendingAsk(tx, merchantId, conversation.id, question.key);
    if (pending) {
      // The list shows that it had expired, so it must be read again.
      if (pending.status === 'expired') await touchNotification(tx, merchantId, pending.id, at);
      await waitAgain(tx, merchantId, pending.id, expiresAt);
      return { id: pending.id, duplicate: true };
    }
    const contextText = JSON.stringify(question.context);
    const bytes = Buffer.byteLength(contextText) + Buffer.byteLength(question.metadata ?? '') + 2 * ROW_BYTES;
    await parts.storage.reserve(tx, merchantId, bytes);
    const conversationId = conversation.id;
    const id = await insertNotification(tx, {
      merchantId,
      type: question.type,
      conversationId,
      contextText,
      at,
    });
    // It was found in this transaction.
    if (id === undefined) throw conversationNotFound();
    const { key: questionKey, reference, metadata } = question;
    await insertAsk(tx, merchantId, {
      ...{ id, conversationId, questionKey, reference, metadata },
      ...{ deliver, expiresAt, at },
    });
    return { id, duplicate: false };
  });
}

async function conversationOf(
  tx: Transaction,
  { storage, defaultCountry }: AskParts,
  merchantId: MerchantId,
  { body, deliver, at }: { body: AskBody; deliver: Deliver; at: Date },
): Promise<Conversation> {
  const isSent = deliver === 'deskbell';
  const withPhone = (conversation: Conversation) => {
    if (isSent && conversation.customer_phone === '') throw phoneRequired();
    return conversation;
  };
  if (body.conversation_id !== undefined) {
    const found = await findConversation(tx, merchantId, body.conversation_id);
    if (!found) throw conversationNotFound();
    return withPhone(found);
  }
  const customer = await checkCustomer(tx, { storage, defaultCountry }, merchantId, { body, isSent });
  const { reference, phone } = customer;
  // A new customer's questions may arrive at the same time.
  await tx.lock(`customer ${merchantId} ${reference ?? phone}`);
  const known =
    reference === null
      ? await findByPhone(tx, merchantId, phone)
      : await findByReference(tx, merchantId, reference);
  if (!known) await storage.reserve(tx, merchantId, CONVERSATION_BYTES);
  // A customer who is known by the number keeps the conversation.
  if (known && reference === null) return known;
  return withPhone(await upsertConversation(tx, merchantId, customer, at));
}

async function checkCustomer(
  tx: Transaction,
  { defaultCountry }: AskParts,
  merchantId: MerchantId,
  { body, isSent }: { body: AskBody; isSent: boolean },
): Promise<NewConversation> {
  const country = (await countryOf(tx, merchantId)) ?? defaultCountry;
  const checked = checkConversation(body.customer ?? {}, country, []);
  if ('problem' in checked) {
    throw invalid(`customer.${checked.field}`, `customer.${checked.field} ${checked.problem}`);
  }
  const { reference, phone } = checked.conversation;
  if (reference === null && phone === '') throw isSent ? phoneRequired() : customerRequired();
  return checked.conversation;
}
