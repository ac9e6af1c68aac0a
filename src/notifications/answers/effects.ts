import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import { type Database, inTransaction, type Queries, type Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { logStep } from '../../events/record.ts';
import { outcomeOf } from '../../knowledge/confidence/outcome.ts';
import { findRecognised, judgeSteps } from '../../knowledge/confidence/store.ts';
import {
  changesDocument,
  type Lesson,
  learnSteps,
  makesDocument,
  planLesson,
  writeLesson,
} from '../../knowledge/learn.ts';
import { type LearnedFrom, rememberAnswered } from '../../knowledge/suggestions.ts';
import { endAskStep } from '../asks/endStep.ts';
import type { AnswerDecision } from '../rules.ts';
import { lockNotification, type StoredNotification } from '../store.ts';
import { type AnswerEvent, answerEvent } from './mark.ts';

export type Decided = Extract<AnswerDecision, { do: 'answer' }>;

/** An answer that nothing can refuse any more. */
export interface Settled {
  notification: StoredNotification;
  decision: Decided;
  author: Author;
  /** When the person answered. */
  at: Date;
  /** Whom the answer goes to: as it was when the person answered, unless somebody corrects the number. */
  recipient: string;
}

/** The question of a notification, and the document that its context names. */
export function askedIn({
  context,
  requested_fields,
}: Pick<StoredNotification, 'context' | 'requested_fields'>) {
  const read = JSON.parse(context) as Record<string, unknown>;
  const [field = ''] = JSON.parse(requested_fields) as string[];
  return {
    question: String(read[field] ?? ''),
    documentId: typeof read.document_id === 'number' ? read.document_id : undefined,
    leadPhone: read.lead_phone,
  };
}

/** What the event of an answer tells besides its notification. */
export const eventOf = ({ notification, decision, at }: Settled): AnswerEvent => ({
  data: askMembers(notification, at),
  texts: decision.send === 'nothing' ? null : `"answer":${JSON.stringify(decision.content)},`,
});

/**
 * Everything that an answer does: the message to the customer, the end of the ask, the event and the lesson, all or
 * nothing, with the step `mark`. If it is not `returning` the notification, nothing happens and `won` is false.
 */
export async function performAnswer(
  queries: Database | Transaction,
  outbox: Outbox,
  merchantId: MerchantId,
  mark: Step,
  settled: Settled,
): Promise<{ won: boolean; waitsUntil: Date | undefined }> {
  const { notification, decision, author, at } = settled;
  const { id } = notification;
  const outcome = decision.send === 'nothing' ? RESOLVED : answered(decision.content);
  const event = answerEvent(queries.engine, mark, outcome.status);
  const ended =
    notification.ask_status === null
      ? []
      : [endAskStep(merchantId, id, { ...outcome, author, at }, mark.name)];
  if (decision.send === 'nothing') {
    const rows = await queries.chain([mark, ...ended, logStep(event)], merchantId);
    return { won: rows.length > 0, waitsUntil: undefined };
  }

  const { question, documentId } = askedIn(notification);
  const message = {
    notificationId: id,
    conversationId: notification.conversation_id,
    reference: notification.reference,
    context: notification.context,
    country: notification.country,
    recipient: settled.recipient,
    mode: decision.send,
    content: decision.content,
    replyTo: decision.quote,
    at,
  };
  // An assistant that speaks to the customer itself relays the answer.
  const sending =
    notification.ask_deliver === 'assistant'
      ? undefined
      : await outbox.prepare(queries, merchantId, message, mark.name);
  /** Only the answer that has won has a message. */
  const end = async (won: boolean) => {
    if (won) await sending?.written(queries);
    return { won, waitsUntil: sending?.waitsUntil };
  };
  const { documentId: sourceId, teach, content: answer } = decision;
  const lesson: Lesson = { teach, sourceId, documentId, question, answer, notificationId: id, author, at };
  const judged =
    notification.ask_status === null || decision.send !== 'reply'
      ? []
      : await judgeAsk(queries, merchantId, {
          ...{ id, author, at, after: mark.name, text: answer },
          documentIds: [sourceId, documentId],
        });
  const steps = [mark, ...(sending?.steps ?? []), ...ended, ...judged];
  /** With the lesson of a document that exists, or else with a new document. */
  const stepsWith = (learned: LearnedFrom): Step[] => {
    const isNew = learned === undefined && decision.learn && makesDocument(lesson);
    const { steps: learning, events } = isNew ? learnSteps(merchantId, lesson, mark.name) : NO_LESSON;
    const remembered = rememberAnswered(merchantId, lesson, mark.name, isNew ? 'new' : learned);
    return [...steps, ...learning, remembered, logStep(event, ...events)];
  };
  if (!decision.learn || !changesDocument(lesson)) {
    const rows = await queries.chain(stepsWith(undefined), merchantId);
    return end(rows.length > 0);
  }
  const won = await inTransaction(queries, async (tx) => {
    // In the lock order: see `Transaction`.
    await lockNotification(tx, merchantId, id);
    const plan = await planLesson(tx, merchantId, lesson);
    const rows = await tx.chain(stepsWith(plan?.learned));
    if (rows.length > 0 && plan) await writeLesson(tx, merchantId, plan, lesson);
    return rows.length > 0;
  });
  return end(won);
}

const NO_LESSON = { steps: [], events: [] };

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
