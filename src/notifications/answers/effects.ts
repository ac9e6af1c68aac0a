import type { Author, MerchantId } from '../../contract/ids.ts';
import type { ChainWithIds, Change, Step } from '../../database/chain.ts';
import { type Database, inTransaction, type Queries, type Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { eventsStep, type NewEvent } from '../../events/record.ts';
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
const eventOf = ({ notification, decision, at }: Settled): NewEvent => {
  const { ask_deliver: deliver, ask_expires_at: expiresAt, author_name: answered_by } = notification;
  return notificationEvent(notification, decision.send === 'nothing' ? 'resolved' : 'answered', at, {
    data: deliver === null ? {} : { deliver, late: isAfter(at, expiresAt) },
    content: decision.send === 'nothing' ? { answered_by } : { answer: decision.content, answered_by },
  });
};

/**
 * Everything that an answer does: the message to the customer, the end of the ask, the event and the lesson, all or
 * nothing, with the gate `mark`. If that finds nothing, nothing happens and `won` is false.
 */
export async function performAnswer(
  queries: Database | Transaction,
  outbox: Outbox,
  merchantId: MerchantId,
  mark: Change,
  settled: Settled,
): Promise<{ won: boolean; waitsUntil: Date | undefined }> {
  const { notification, decision, author, at } = settled;
  const { id, author_name: by } = notification;
  const outcome = decision.send === 'nothing' ? RESOLVED : answered(decision.content);
  const ended = notification.ask_status === null ? [] : [endAskStep(merchantId, id, { ...outcome, by, at })];
  const event = eventOf(settled);
  if (decision.send === 'nothing') {
    const steps = [...ended, eventsStep(merchantId, [event])];
    const rows = await queries.chain({ gate: mark, steps }, merchantId);
    return { won: rows.length > 0, waitsUntil: undefined };
  }

  const { question, documentId } = readContext(notification);
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
    notification.ask_deliver === 'assistant' ? undefined : await outbox.prepare(queries, merchantId, message);
  /** Only the answer that has won has a message. */
  const end = (won: boolean) => {
    if (won) sending?.written(queries);
    return { won, waitsUntil: sending?.waitsUntil };
  };
  const { documentId: sourceId, teach, content: answer } = decision;
  const lesson: Lesson = { teach, sourceId, documentId, question, answer, notificationId: id, author, at };
  const judged =
    notification.ask_status === null || decision.send !== 'reply'
      ? []
      : await judgeAsk(queries, merchantId, {
          ...{ id, author, at, text: answer },
          documentIds: [sourceId, documentId],
        });
  /** With the lesson of a document that exists, or else with a new document. */
  const chainWith = (learned: LearnedFrom): ChainWithIds => {
    const isNew = learned === undefined && decision.learn && makesDocument(lesson);
    return {
      newIds: { ...(sending && { deliveries: 1 }), ...(isNew && { documents: 1 }) },
      build(ids) {
        const newId = ids.documents?.[0];
        const learning = newId === undefined ? NOTHING : learnSteps(merchantId, lesson, newId);
        const source = newId === undefined ? learned : { do: 'new' as const, documentId: newId, version: 1 };
        const queued = sending?.steps(ids.deliveries![0]!) ?? NOTHING;
        return {
          gate: mark,
          // In the lock order: see `Transaction`.
          steps: [
            ...ended,
            ...learning.steps,
            rememberAnswered(merchantId, lesson, source),
            ...judged,
            eventsStep(merchantId, [event, ...queued.events, ...learning.events]),
            ...queued.steps,
          ],
        };
      },
    };
  };
  if (!decision.learn || !changesDocument(lesson)) {
    const rows = await queries.chain(chainWith(undefined), merchantId);
    return end(rows.length > 0);
  }
  const won = await inTransaction(queries, async (tx) => {
    // In the lock order: see `Transaction`.
    await lockNotification(tx, merchantId, id);
    const plan = await planLesson(tx, merchantId, lesson);
    const rows = await tx.chain(chainWith(plan?.learned));
    if (rows.length > 0 && plan) await writeLesson(tx, merchantId, plan, lesson);
    return rows.length > 0;
  });
  return end(won);
}

const NOTHING = { steps: [], events: [] };

/** The answer to an ask tells whether its best candidate was right. */
async function judgeAsk(
  queries: Queries,
  merchantId: MerchantId,
  answer: {
    id: number;
    author: Author;
    at: Date;
    text: string;
    documentIds: readonly (number | undefined)[];
  },
): Promise<Step[]> {
  const { id: notificationId, author, at } = answer;
  const recognised = await findRecognised(queries, merchantId, notificationId);
  if (!recognised) return [];
  const outcome = outcomeOf(recognised, answer);
  return judgeSteps(merchantId, { id: recognised.id, outcome, author, at });
}

const isAfter = (at: Date, time: string | null) => time !== null && at.toISOString() > time;

const RESOLVED = { status: 'resolved' } as const;
const answered = (answer: string) => ({ status: 'answered', answer }) as const;
