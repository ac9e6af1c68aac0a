import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { Step } from '../database/chain.ts';
import {
  type Database,
  DatabaseUnavailable,
  inTransaction,
  type Queries,
  type Transaction,
} from '../database/database.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import { alreadyAnswered, notificationNotFound } from '../errors.ts';
import { logStep } from '../events/record.ts';
import { outcomeOf } from '../knowledge/confidence/outcome.ts';
import { findRecognised, judgeSteps } from '../knowledge/confidence/store.ts';
import { learn, learnSteps, lockLesson } from '../knowledge/learn.ts';
import { rememberAnswered } from '../knowledge/suggestions.ts';
import { endAskStep } from './asks/endStep.ts';
import { recipientOf } from './recipient.ts';
import { checkAnswer } from './rules.ts';
import {
  answerEvent,
  type FindNotification,
  findAnswerSchema,
  findNotification,
  lockNotification,
  markAnswered,
  type StoredNotification,
} from './store.ts';

/** The schemas are our own. Checking them would take 40 ms at the first answer. */
const ajv = new Ajv2020({ strict: false, validateSchema: false });
/** The id is a hash of the schema, so a schema never changes. */
const compiled = new Map<string, ValidateFunction>();

export interface AnswerParts {
  outbox: Outbox;
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
}

/**
 * Answers a notification, or throws the reason for refusing. The answer, the message to the customer and the change to
 * the knowledge base are one statement or one transaction: all or nothing.
 */
export async function answerNotification(
  queries: Database | Transaction,
  { outbox, find = (key) => findNotification(queries, key.merchantId, key.id) }: AnswerParts,
  { merchantId, author, id, body, at, teach = true }: Answer,
): Promise<{ message: string }> {
  const notification = (await find({ merchantId, id })) ?? (await findOnPrimary(queries, merchantId, id));

  const decision = checkAnswer(
    {
      type: notification.notification_type,
      status: notification.status,
      answeredFields: JSON.parse(notification.answered_fields) as string[],
      matchesSchema: await answerCheck(queries, notification.answer_schema_id),
    },
    body,
  );
  if (decision.do === 'refuse') throw decision.error;

  const outcome = decision.send === 'nothing' ? RESOLVED : answered(decision.content);
  const mark = markAnswered(merchantId, id, {
    answer: JSON.stringify(decision.answer),
    answeredBy: author,
    at,
    event: {
      data: askMembers(notification, at),
      texts: decision.send === 'nothing' ? null : `"answer":${JSON.stringify(decision.content)},`,
    },
  });
  const event = answerEvent(queries.engine, mark, outcome.status);
  /** Only one answer wins: another request may have answered or deleted the notification since it was read. */
  const assertWon = async (rows: readonly unknown[]) => {
    if (rows.length > 0) return;
    if (!(await findNotification(queries, merchantId, id))) await findOnPrimary(queries, merchantId, id);
    throw alreadyAnswered();
  };
  const ended =
    notification.ask_status === null
      ? []
      : [endAskStep(merchantId, id, { ...outcome, author, at }, mark.name)];
  if (decision.send === 'nothing') {
    await assertWon(await queries.chain([mark, ...ended, logStep(event)], merchantId));
    return { message: 'Notification resolved without a reply.' };
  }

  const context = JSON.parse(notification.context) as Record<string, unknown>;
  const { lead_phone: leadPhone } = context;
  const question = String(context[(JSON.parse(notification.requested_fields) as string[])[0] ?? ''] ?? '');
  const message = {
    notificationId: id,
    conversationId: notification.conversation_id,
    reference: notification.reference,
    context: notification.context,
    country: notification.country,
    recipient: recipientOf(leadPhone, notification),
    mode: decision.send,
    content: decision.content,
    at,
  };
  // An assistant that speaks to the customer itself relays the answer.
  const { steps: sending, waitsUntil } =
    notification.ask_deliver === 'assistant'
      ? { steps: [], waitsUntil: undefined }
      : await outbox.prepare(queries, merchantId, message, mark.name);
  const documentId = typeof context.document_id === 'number' ? context.document_id : undefined;
  const sourceId = decision.documentId;
  const lesson = { sourceId, documentId, question, answer: decision.content, notificationId: id, author, at };
  const judged =
    notification.ask_status === null || decision.send !== 'reply'
      ? []
      : await judgeAsk(queries, merchantId, {
          ...{ id, author, at, after: mark.name, text: decision.content },
          documentIds: [sourceId, documentId],
        });
  const steps = [mark, ...sending, ...ended, ...judged, rememberAnswered(merchantId, lesson, mark.name)];
  const learns = decision.learn && teach;
  if (learns && (documentId ?? sourceId) !== undefined) {
    await inTransaction(queries, async (tx) => {
      // In the lock order: see `Transaction`.
      await lockNotification(tx, merchantId, id);
      await lockLesson(tx, merchantId, lesson);
      await assertWon(await tx.chain([...steps, logStep(event)]));
      await learn(tx, merchantId, lesson);
    });
  } else {
    const learning = learns ? learnSteps(merchantId, lesson, mark.name) : { steps: [], events: [] };
    const log = logStep(event, ...learning.events);
    await assertWon(await queries.chain([...steps, ...learning.steps, log], merchantId));
  }
  return {
    message: waitsUntil
      ? `Notification answered. The day's messaging limit is reached: the message waits until ${waitsUntil.toISOString()}.`
      : 'Notification answered.',
  };
}

/**
 * Finds a notification that was not found, or throws that there is none. A primary that was demoted still answers reads,
 * without what is new, and some connections still lead to it. It refuses the lock.
 */
async function findOnPrimary(
  queries: Database | Transaction,
  merchantId: MerchantId,
  id: number,
): Promise<StoredNotification> {
  if (!(await lockNotification(queries, merchantId, id))) throw notificationNotFound();
  const notification = await findNotification(queries, merchantId, id);
  if (!notification) throw new DatabaseUnavailable('a read went to a server that is no longer the primary');
  return notification;
}

/** The answer to an ask tells whether its best candidate was right. */
async function judgeAsk(
  queries: Queries,
  merchantId: MerchantId,
  answer: {
    id: number;
    author: Author;
    at: Date;
    after: string;
    text: string;
    documentIds: readonly (number | undefined)[];
  },
): Promise<Step[]> {
  const { id: notificationId, author, at, after } = answer;
  const recognised = await findRecognised(queries, merchantId, notificationId);
  if (!recognised) return [];
  const outcome = outcomeOf(recognised, answer);
  return judgeSteps(merchantId, { id: recognised.id, notificationId, outcome, author, at }, after);
}

const isAfter = (at: Date, time: string | null) => time !== null && at.toISOString() > time;

const RESOLVED = { status: 'resolved' } as const;
const answered = (answer: string) => ({ status: 'answered', answer }) as const;

/** What the event tells of the notification's ask, if it has one. */
const askMembers = ({ ask_deliver, ask_expires_at }: StoredNotification, at: Date) =>
  ask_deliver === null ? null : `,"deliver":"${ask_deliver}","late":${isAfter(at, ask_expires_at)}`;

async function answerCheck(queries: Queries, schemaId: string): Promise<ValidateFunction> {
  let check = compiled.get(schemaId);
  if (!check) {
    check = ajv.compile(JSON.parse(await findAnswerSchema(queries, schemaId)) as object);
    compiled.set(schemaId, check);
  }
  return check;
}
