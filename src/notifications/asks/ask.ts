import type { AskBody, Deliver } from '../../contract/asks.ts';
import type { Candidate } from '../../contract/find.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { checkConversation, type NewConversation } from '../../conversations/rules.ts';
import { CONVERSATION_BYTES } from '../../conversations/storage.ts';
import {
  type Conversation,
  completeConversation,
  findByPhone,
  findByReference,
  findConversation,
  insertConversation,
} from '../../conversations/store.ts';
import { takenOverOf } from '../../conversations/wire.ts';
import { findRightPhone } from '../../conversations/wrongPhones.ts';
import { type Database, inTransaction, type Transaction } from '../../database/database.ts';
import { type CountryCode, phoneOrText } from '../../delivery/phone.ts';
import {
  conversationNotFound,
  customerRequired,
  invalid,
  phoneDiffers,
  phoneRequired,
} from '../../errors.ts';
import { recordAsked, recordKnown } from '../../knowledge/confidence/store.ts';
import type { Storage } from '../../merchants/storage.ts';
import { countryOf, deliverOf } from '../../merchants/store.ts';
import { ROW_BYTES } from '../inboxes.ts';
import { raise } from '../raise.ts';
import { touchNotification } from '../store.ts';
import type { Question } from './rules.ts';
import { findPendingAsk, insertAsk, waitAgain } from './store.ts';

export interface AskParts {
  storage: Storage;
  /** The country of numbers without a country code, for merchants without their own. */
  defaultCountry: CountryCode | undefined;
}

export type Asked =
  | { known: Candidate; conversationId: number | null }
  | { id: number; duplicate: boolean; takenOver: ReturnType<typeof takenOverOf> };

/** Answers from the knowledge base if it can, otherwise raises the question once. All or nothing. */
export function ask(
  queries: Database | Transaction,
  parts: AskParts,
  merchantId: MerchantId,
  asked: { body: AskBody; question: Question; recognised: Candidate | undefined; at: Date },
): Promise<Asked> {
  const { body, question, recognised, at } = asked;
  return inTransaction(queries, async (tx) => {
    const deliver = body.deliver ?? (await deliverOf(tx, merchantId));
    if (recognised?.confident && body.if_known !== 'raise') {
      const { conversation_id: id } = body;
      // A mistake must not appear only when an answer is not known.
      const customer =
        id === undefined
          ? await checkCustomer(tx, parts, merchantId, { body, isSent: deliver === 'deskbell' })
          : undefined;
      const conversation = customer
        ? await findCustomer(tx, parts, merchantId, customer)
        : await findConversation(tx, merchantId, id!);
      if (id !== undefined && !conversation) throw conversationNotFound();
      // A person speaks to this customer: the assistant must not answer, so that person gets the question.
      if (!conversation?.taken_over_at) {
        await recordKnown(tx, merchantId, {
          ...{ question: question.text, documentId: recognised.document_id, score: recognised.score, at },
          conversationId: conversation?.id ?? null,
          customer: conversation ? null : customer?.phone || customer?.reference || null,
        });
        return { known: recognised, conversationId: conversation?.id ?? null };
      }
    }
    const conversationId = await conversationOf(tx, parts, merchantId, { body, deliver, at });
    const expiresAt =
      body.expires_in_seconds === undefined
        ? undefined
        : new Date(at.getTime() + body.expires_in_seconds * 1000);
    // The same question of this customer may arrive at the same time.
    await tx.lock(`ask ${merchantId} ${conversationId}`);
    const conversation = await findConversation(tx, merchantId, conversationId);
    const takenOver = conversation ? takenOverOf(conversation) : null;
    const pending = await findPendingAsk(tx, merchantId, conversationId, question.key);
    if (pending) {
      // The list shows that it had expired, so it must be read again.
      if (pending.status === 'expired') await touchNotification(tx, merchantId, pending.id, at);
      await waitAgain(tx, merchantId, pending.id, expiresAt);
      return { id: pending.id, duplicate: true, takenOver };
    }
    const contextText = JSON.stringify(question.context);
    const bytes = Buffer.byteLength(contextText) + Buffer.byteLength(question.metadata ?? '') + 2 * ROW_BYTES;
    await parts.storage.reserve(tx, merchantId, bytes);
    const id = await raise(tx, {
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
    if (recognised) {
      const { document_id: documentId, score } = recognised;
      await recordAsked(tx, merchantId, { documentId, score, notificationId: id, at });
    }
    return { id, duplicate: false, takenOver };
  });
}

/** The id of the conversation. It is created if needed, and gets what it lacks. What it has never changes here. */
async function conversationOf(
  tx: Transaction,
  { storage, defaultCountry }: AskParts,
  merchantId: MerchantId,
  { body, deliver, at }: { body: AskBody; deliver: Deliver; at: Date },
): Promise<number> {
  const isSent = deliver === 'deskbell';
  if (body.conversation_id !== undefined) {
    const found = await findConversation(tx, merchantId, body.conversation_id);
    if (!found) throw conversationNotFound();
    if (isSent && found.customer_phone === '') throw phoneRequired();
    return found.id;
  }
  const customer = await checkCustomer(tx, { storage, defaultCountry }, merchantId, { body, isSent });
  const { reference, phone } = customer;
  // A new customer's questions may arrive at the same time.
  await tx.lock(`customer ${merchantId} ${reference ?? phone}`);
  let known = await findCustomer(tx, { defaultCountry }, merchantId, customer);
  // Before the first write: a refusal may be stored in this transaction.
  if (isSent && phone === '' && !known?.customer_phone) throw phoneRequired();
  if (!known) {
    await storage.reserve(tx, merchantId, CONVERSATION_BYTES);
    const id = await insertConversation(tx, merchantId, customer, at);
    if (id !== undefined) return id;
    // It was recorded a moment ago.
    known = await findCustomer(tx, { defaultCountry }, merchantId, customer);
  }
  if (!known || !(await completeConversation(tx, merchantId, { known, customer, at }))) throw phoneDiffers();
  return known.id;
}

/** Throws if the number is another, and not one that a person has replaced: the answers that wait for this customer would go to it. */
async function findCustomer(
  tx: Transaction,
  { defaultCountry }: Pick<AskParts, 'defaultCountry'>,
  merchantId: MerchantId,
  { reference, phone }: NewConversation,
): Promise<Conversation | undefined> {
  if (reference === null) return findByPhone(tx, merchantId, phone);
  const known = await findByReference(tx, merchantId, reference);
  if (!known?.customer_phone || ['', known.customer_phone].includes(phone)) return known;
  // One of an earlier version may be stored as it was written.
  const country = (await countryOf(tx, merchantId)) ?? defaultCountry;
  const right = await findRightPhone(tx, merchantId, known.id, phone);
  if (![phone, right].includes(phoneOrText(known.customer_phone, country))) throw phoneDiffers();
  return known;
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
