import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { namedAuthor } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import { findQuoted } from '../../conversations/quote.ts';
import { type Database, inTransaction, type Queries, type Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { notificationNotFound } from '../../errors.ts';
import type { Learned } from '../../knowledge/learn.ts';
import { checkTeach } from '../../knowledge/teach.ts';
import type { Storage } from '../../merchants/storage.ts';
import { readContext } from '../kinds.ts';
import { recipientOf } from '../recipient.ts';
import { checkAnswer } from '../rules.ts';
import { findAnswerSchema } from '../store.ts';
import { holdOf } from './held.ts';
import { markAnswered } from './mark.ts';
import { type Decided, lockWithNewIds, performAnswer, type Settled } from './perform.ts';

/** The schemas are our own. Checking them would take 40 ms at the first answer. */
const ajv = new Ajv2020({ strict: false, validateSchema: false });
/** The id is a hash of the schema, so a schema never changes. */
const compiled = new Map<string, ValidateFunction>();

interface AnswerParts {
  outbox: Outbox;
  storage: Storage;
}

interface Answer {
  merchantId: MerchantId;
  author: Author;
  id: number;
  body: unknown;
  at: Date;
  /** False: the knowledge base learns nothing. */
  teach?: boolean;
  /** The notifications that get the same answer, which is learned once. */
  together?: readonly number[];
}

export interface Answered {
  message: string;
  /** Only of an answer that can be undone. */
  undo_until?: string;
  /** Only of an answer with `teach`. */
  lesson?: unknown;
}

/**
 * Answers a notification, or throws the reason for refusing. The answer, the message to the customer and the change to
 * the knowledge base are one transaction: all or nothing. If the answer can be undone, only the answer is written, and
 * the rest follows later: see `release.ts`.
 */
export function answerNotification(
  queries: Database | Transaction,
  { outbox, storage }: AnswerParts,
  { merchantId, author: caller, id, body, at, teach = true, together }: Answer,
): Promise<Answered> {
  return inTransaction(queries, async (tx) => {
    // Only one answer wins: whoever comes later waits here until it is written.
    const { notification, newIds } = await lockWithNewIds(tx, { merchantId, id, author: caller });
    if (!notification || notification.erased_at !== null) throw notificationNotFound();

    const { author } = namedAuthor(caller, notification.author_name);
    const { question, documentId: namedDocument, leadPhone } = readContext(notification);
    const decision = checkAnswer(
      {
        type: notification.notification_type,
        status: notification.status,
        answeredFields: JSON.parse(notification.answered_fields) as string[],
        matchesSchema: await answerCheck(tx, notification.answer_schema_id),
        namedDocument,
      },
      body,
    );
    if (decision.do === 'refuse') throw decision.error;
    if (decision.send !== 'nothing') {
      if (!teach) decision.learn = false;
      if (decision.replyTo !== undefined) {
        const { conversation_id: conversationId } = notification;
        decision.quote = await findQuoted(tx, merchantId, conversationId, decision.replyTo);
      }
      if (decision.teach) await reserveLesson(tx, storage, merchantId, { question, decision });
    }

    const recipient = recipientOf(leadPhone, notification, outbox.defaultCountry);
    const settled: Settled = { notification, decision, author, at, recipient };
    const { undoSeconds } = decision;
    const hold = undoSeconds === undefined ? undefined : holdOf(settled, undoSeconds, together);
    await markAnswered(tx, merchantId, id, {
      answer: JSON.stringify(decision.answer),
      answeredBy: author,
      at,
      hold,
    });
    if (hold) return { message: messageOf(decision), undo_until: hold.until, lesson: null };
    const { waitsUntil, learned } = await performAnswer(tx, outbox, settled, newIds);
    const message = messageOf(decision, waitsUntil);
    if (decision.send === 'nothing' || !decision.teach) return { message };
    return { message, lesson: learned ? lessonOf(learned) : null };
  });
}

const lessonOf = ({ do: done, documentId, version }: Learned) => ({
  ...{ do: done, document_id: documentId, version },
});

function messageOf({ send, undoSeconds }: Decided, waitsUntil?: Date): string {
  const done = send === 'nothing' ? 'Notification resolved without a reply.' : 'Notification answered.';
  if (undoSeconds !== undefined) {
    const seconds = undoSeconds === 1 ? '1 second' : `${undoSeconds} seconds`;
    return send === 'nothing'
      ? `${done} This can be undone for ${seconds}.`
      : `${done} The message will be sent in ${seconds}.`;
  }
  if (!waitsUntil) return done;
  return `${done} The day's messaging limit is reached: the message waits until ${waitsUntil.toISOString()}.`;
}

/** Answers are never refused for lack of storage. A text that is not the answer is. */
async function reserveLesson(
  queries: Queries,
  storage: Storage,
  merchantId: MerchantId,
  { question, decision }: { question: string; decision: Exclude<Decided, { send: 'nothing' }> },
): Promise<void> {
  const teach = decision.teach!;
  const bytes = await checkTeach(queries, merchantId, teach, { question, answer: decision.content });
  if (teach.do === 'append' || ('text' in teach && teach.text !== undefined))
    await storage.reserve(queries, merchantId, bytes);
}

async function answerCheck(queries: Queries, schemaId: string): Promise<ValidateFunction> {
  let check = compiled.get(schemaId);
  if (!check) {
    check = ajv.compile(JSON.parse(await findAnswerSchema(queries, schemaId)) as object);
    compiled.set(schemaId, check);
  }
  return check;
}
