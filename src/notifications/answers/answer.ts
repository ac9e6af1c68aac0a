import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { namedAuthor } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import { findQuoted } from '../../conversations/quote.ts';
import {
  type Database,
  DatabaseUnavailable,
  type Queries,
  type Transaction,
} from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { alreadyAnswered, notificationNotFound } from '../../errors.ts';
import { findLessonWire } from '../../knowledge/taught.ts';
import { checkTeach } from '../../knowledge/teach.ts';
import type { Storage } from '../../merchants/storage.ts';
import { readContext } from '../kinds.ts';
import { recipientOf } from '../recipient.ts';
import { checkAnswer } from '../rules.ts';
import {
  type FindNotification,
  findAnswerSchema,
  findNotification,
  lockNotification,
  type StoredNotification,
} from '../store.ts';
import { type Decided, performAnswer, type Settled } from './effects.ts';
import { holdOf } from './held.ts';
import { markAnswered } from './mark.ts';

/** The schemas are our own. Checking them would take 40 ms at the first answer. */
const ajv = new Ajv2020({ strict: false, validateSchema: false });
/** The id is a hash of the schema, so a schema never changes. */
const compiled = new Map<string, ValidateFunction>();

export interface AnswerParts {
  outbox: Outbox;
  storage: Storage;
  /** Absent within a transaction, which reads it itself. */
  find?: FindNotification | undefined;
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
 * the knowledge base are one statement or one transaction: all or nothing. If the answer can be undone, only the answer
 * is written, and the rest follows later: see `release.ts`.
 */
export async function answerNotification(
  queries: Database | Transaction,
  { outbox, storage, find = (wanted) => findNotification(queries, wanted) }: AnswerParts,
  { merchantId, author: caller, id, body, at, teach = true, together }: Answer,
): Promise<Answered> {
  const wanted = { merchantId, id, author: caller };
  const notification = (await find(wanted)) ?? (await findOnPrimary(queries, wanted));
  if (notification.erased_at !== null) throw notificationNotFound();

  const { author } = namedAuthor(caller, notification.author_name);
  const { question, documentId: namedDocument, leadPhone } = readContext(notification);
  const decision = checkAnswer(
    {
      type: notification.notification_type,
      status: notification.status,
      answeredFields: JSON.parse(notification.answered_fields) as string[],
      matchesSchema: await answerCheck(queries, notification.answer_schema_id),
      namedDocument,
    },
    body,
  );
  if (decision.do === 'refuse') throw decision.error;
  if (decision.send !== 'nothing') {
    if (!teach) decision.learn = false;
    if (decision.replyTo !== undefined) {
      const { conversation_id: conversationId } = notification;
      decision.quote = await findQuoted(queries, merchantId, conversationId, decision.replyTo);
    }
    if (decision.teach) await reserveLesson(queries, storage, merchantId, { question, decision });
  }

  const recipient = recipientOf(leadPhone, notification, outbox.defaultCountry);
  const settled: Settled = { notification, decision, author, at, recipient };
  const hold =
    decision.undoSeconds === undefined ? undefined : holdOf(settled, decision.undoSeconds, together);
  const mark = markAnswered(merchantId, id, {
    answer: JSON.stringify(decision.answer),
    answeredBy: author,
    at,
    hold,
  });
  const { won, waitsUntil } = hold
    ? { won: (await queries.chain({ gate: mark, steps: [] }, merchantId)).length > 0, waitsUntil: undefined }
    : await performAnswer(queries, outbox, merchantId, mark, settled);
  if (!won) {
    // Only one answer wins: another request may have answered or deleted the notification since it was read, or begun to
    // erase the customer.
    const now = (await findNotification(queries, wanted)) ?? (await findOnPrimary(queries, wanted));
    throw now.erased_at === null ? alreadyAnswered() : notificationNotFound();
  }
  const message = messageOf(decision, waitsUntil);
  if (hold) return { message, undo_until: hold.until, lesson: null };
  if (decision.send === 'nothing' || !decision.teach) return { message };
  const lesson = await findLessonWire(queries, merchantId, id);
  return { message, lesson: lesson === undefined ? null : JSON.parse(lesson) };
}

function messageOf({ send, undoSeconds }: Decided, waitsUntil: Date | undefined): string {
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

/**
 * Finds a notification that was not found, or throws that there is none. A primary that was demoted still answers reads,
 * without what is new, and some connections still lead to it. It refuses the lock.
 */
async function findOnPrimary(
  queries: Database | Transaction,
  wanted: Parameters<FindNotification>[0],
): Promise<StoredNotification> {
  if (!(await lockNotification(queries, wanted.merchantId, wanted.id))) throw notificationNotFound();
  const notification = await findNotification(queries, wanted);
  if (!notification) throw new DatabaseUnavailable('a read went to a server that is no longer the primary');
  return notification;
}

async function answerCheck(queries: Queries, schemaId: string): Promise<ValidateFunction> {
  let check = compiled.get(schemaId);
  if (!check) {
    check = ajv.compile(JSON.parse(await findAnswerSchema(queries, schemaId)) as object);
    compiled.set(schemaId, check);
  }
  return check;
}
