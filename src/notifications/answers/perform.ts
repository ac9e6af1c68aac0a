import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { logEvents, type NewEvent } from '../../events/record.ts';
import { outcomeOf } from '../../knowledge/confidence/outcome.ts';
import { findRecognised, judge } from '../../knowledge/confidence/store.ts';
import { type Learned, type Lesson, learn } from '../../knowledge/learn.ts';
import { rememberAnswered } from '../../knowledge/suggestions.ts';
import { endAsk } from '../asks/store.ts';
import { notificationEvent } from '../event.ts';
import { readContext } from '../kinds.ts';
import type { AnswerDecision } from '../rules.ts';
import { lockNotification, type StoredNotification } from '../store.ts';

export type Decided = Extract<AnswerDecision, { do: 'answer' }>;

/** An answer that nothing can refuse any more. */
export interface Settled {
  notification: StoredNotification;
  decision: Decided;
  /** Whose name the notification has. */
  author: Author;
  /** When the person answered. */
  at: Date;
  /** Whom the answer goes to: as it was when the person answered, unless somebody corrects the number. */
  recipient: string;
}

/** The event of an answer. */
const eventOf = ({
  notification,
  decision,
  at,
}: Pick<Settled, 'notification' | 'decision' | 'at'>): NewEvent => {
  const { ask_deliver: deliver, ask_expires_at: expiresAt, author_name: answered_by } = notification;
  return notificationEvent(notification, decision.send === 'nothing' ? 'resolved' : 'answered', at, {
    data: deliver === null ? {} : { deliver, late: isAfter(at, expiresAt) },
    content: decision.send === 'nothing' ? { answered_by } : { answer: decision.content, answered_by },
  });
};

/** Of the document and the message that an answer may make. */
interface NewIds {
  document: number;
  delivery: number;
}

/** A notification, locked until the transaction ends, and numbers for what its answer makes, in one round trip. */
export async function lockWithNewIds(
  tx: Transaction,
  wanted: { merchantId: MerchantId; id: number; author: Author },
): Promise<{ notification: StoredNotification | undefined; newIds: NewIds }> {
  const [notification, [document], [delivery]] = await Promise.all([
    lockNotification(tx, wanted),
    tx.newIds('documents', 1),
    tx.newIds('deliveries', 1),
  ]);
  return { notification, newIds: { document: document!, delivery: delivery! } };
}

interface Performed {
  /** Until when the message must wait for the daily limit, if that is already known. */
  waitsUntil?: Date | undefined;
  learned?: Learned | undefined;
}

/**
 * What follows from an answer, in its transaction and in the lock order: the end of the ask, the event, the lesson and the
 * message to the customer.
 */
export async function performAnswer(
  tx: Transaction,
  outbox: Outbox,
  { notification, decision, author, at, recipient }: Settled,
  newIds: NewIds,
): Promise<Performed> {
  const { merchant_id: merchantId, id, author_name: by, ask_status, ask_deliver } = notification;
  const isAsked = ask_status !== null;
  const event = eventOf({ notification, decision, at });
  if (decision.send === 'nothing') {
    if (isAsked) await endAsk(tx, merchantId, id, { status: 'resolved', by, at });
    await logEvents(tx, merchantId, [event]);
    return {};
  }
  const { content: answer, documentId: sourceId, teach } = decision;
  if (isAsked) await endAsk(tx, merchantId, id, { status: 'answered', answer, by, at });
  await logEvents(tx, merchantId, [event]);

  const { question, documentId } = readContext(notification);
  const lesson: Lesson = { teach, sourceId, documentId, question, answer, notificationId: id, author, at };
  const learned = decision.learn ? await learn(tx, merchantId, lesson, newIds.document) : undefined;
  await rememberAnswered(tx, merchantId, lesson, learned);
  if (isAsked && decision.send === 'reply')
    await judgeAsk(tx, merchantId, { id, author, at, text: answer, documentIds: [sourceId, documentId] });

  // An assistant that speaks to the customer itself relays the answer.
  if (ask_deliver === 'assistant') return { learned };
  const { conversation_id: conversationId, reference, context, country } = notification;
  const message = {
    ...{ notificationId: id, conversationId, reference, context, country, recipient },
    ...{ mode: decision.send, content: answer, replyTo: decision.quote, at },
  };
  const { waitsUntil } = await outbox.enqueue(tx, merchantId, message, newIds.delivery);
  return { waitsUntil, learned };
}

/** The answer to an ask tells whether its best candidate was right. */
async function judgeAsk(
  tx: Queries,
  merchantId: MerchantId,
  answer: {
    id: number;
    author: Author;
    at: Date;
    text: string;
    documentIds: readonly (number | undefined)[];
  },
): Promise<void> {
  const { id: notificationId, author, at } = answer;
  const recognised = await findRecognised(tx, merchantId, notificationId);
  if (recognised)
    await judge(tx, merchantId, { id: recognised.id, outcome: outcomeOf(recognised, answer), author, at });
}

const isAfter = (at: Date, time: string | null) => time !== null && at.toISOString() > time;
