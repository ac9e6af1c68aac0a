import { ANSWER_LENGTH_MAX, ANSWERED_TOGETHER_MAX, type AnswerResult } from '../../contract/groups.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Database, Transaction } from '../../database/database.ts';
import type { Outbox } from '../../delivery/queue/enqueue.ts';
import { invalid, required } from '../../errors.ts';
import { isId, isLongerThan, memberOf, objectIn } from '../../http/input.ts';
import { documentExists } from '../../knowledge/taught.ts';
import type { Storage } from '../../merchants/storage.ts';
import { answerNotification } from '../answers/answer.ts';
import { findLesson } from '../answers/lessons.ts';
import { forEach } from '../answers/many.ts';
import { isUndoSeconds, undoSecondsInvalid } from '../rules.ts';
import { listRequested } from './store.ts';

/** One answer for many notifications. */
export interface ManyAnswer {
  ids: readonly number[];
  answer: string;
  /** `new`: no document that a notification names is replaced. */
  teach: boolean | 'new';
  onlySendCampaign: boolean;
  /** The document that the answer comes from. */
  documentId: number | undefined;
  /** How long it can be undone. */
  undoSeconds: number;
}

export const idsInvalid = () =>
  invalid('ids', `ids must be 1 to ${ANSWERED_TOGETHER_MAX} different ids of notifications`);

/** Reads the body of a request, or throws what is wrong with it. */
export function readManyAnswer(body: unknown): ManyAnswer {
  objectIn(body);
  const given = (field: string): unknown => memberOf(body, field) ?? undefined;
  const flag = (field: string, otherwise: boolean): boolean => {
    const value = given(field) ?? otherwise;
    if (typeof value !== 'boolean') throw invalid(field, `${field} must be a boolean`);
    return value;
  };

  const ids = readIds(given('ids'));
  const answer = given('answer');
  if (answer === undefined || (typeof answer === 'string' && answer.trim() === '')) throw required('answer');
  if (typeof answer !== 'string' || isLongerThan(answer, ANSWER_LENGTH_MAX))
    throw invalid('answer', `answer must be a text of at most ${ANSWER_LENGTH_MAX} characters`);
  const documentId = given('document_id');
  if (documentId !== undefined && !isId(documentId))
    throw invalid('document_id', 'document_id must be the id of a document');
  const undoSeconds = readUndoSeconds(given('undo_seconds'));
  return {
    ids,
    answer,
    undoSeconds,
    teach: readTeach(given('teach')),
    onlySendCampaign: flag('only_send_campaign', false),
    documentId,
  };
}

function readTeach(given: unknown = true): boolean | 'new' {
  if (typeof given === 'boolean') return given;
  const what = typeof given === 'object' && given !== null && 'do' in given ? given.do : undefined;
  if (what === 'new') return what;
  if (what === 'nothing') return false;
  throw invalid('teach', 'teach must be a boolean, or an object in which do is new or nothing');
}

export function readIds(ids: unknown): number[] {
  if (ids === undefined || ids === null) throw required('ids');
  if (!Array.isArray(ids) || ids.length < 1 || ids.length > ANSWERED_TOGETHER_MAX) throw idsInvalid();
  if (!ids.every(isId) || new Set(ids).size < ids.length) throw idsInvalid();
  return ids;
}

export function readUndoSeconds(given: unknown): number {
  const seconds = given ?? 0;
  if (!isUndoSeconds(seconds)) throw undoSecondsInvalid();
  return seconds;
}

interface Parts {
  database: Database;
  outbox: Outbox;
  storage: Storage;
  now: () => Date;
}

/**
 * Answers one notification after another, each in its own transaction. A refusal concerns only its own notification. A
 * failure ends the call, and a repeated call answers the rest: nobody gets the answer twice, because a notification can
 * be answered only once.
 */
export async function answerMany(
  { database, outbox, storage, now }: Parts,
  merchantId: MerchantId,
  author: Author,
  { ids, answer, teach, onlySendCampaign, documentId: given, undoSeconds }: ManyAnswer,
): Promise<{ results: AnswerResult[]; document_id: number | null }> {
  const teaches = teach !== false && !onlySendCampaign;
  const pending = new Set(await listRequested(database, merchantId, ids));
  const isKnown = given !== undefined && (await documentExists(database, merchantId, given));
  let documentId = isKnown ? given : undefined;
  let taught: number | undefined;

  const answerOne = (queries: Database | Transaction, id: number, from: number | undefined) =>
    answerNotification(
      queries,
      { outbox, storage },
      {
        merchantId,
        author,
        id,
        body: {
          ...{ answer, document_id: from, only_send_campaign: onlySendCampaign },
          undo_seconds: undoSeconds,
          ...(teaches && teach === 'new' && from === undefined ? { teach: { do: 'new' } } : {}),
        },
        at: now(),
        teach: teaches,
        together: ids,
      },
    );

  /** The first lesson makes the document, or finds the one that a call which ended half-way made. */
  const answerFirst = (id: number) =>
    database.transaction(async (tx) => {
      // Two calls at the same time would make two documents.
      await tx.lock(`answer many ${merchantId}`);
      const known = await findLesson(tx, merchantId, ids, answer);
      const { message } = await answerOne(tx, id, known);
      return { message, documentId: known ?? (await findLesson(tx, merchantId, [id], answer)) };
    });

  const results = await forEach<AnswerResult>(ids, async (id) => {
    let message: string;
    // Without the lock for what is refused anyway.
    if (teaches && documentId === undefined && undoSeconds === 0 && pending.has(id))
      ({ message, documentId } = await answerFirst(id));
    else ({ message } = await answerOne(database, id, documentId));
    if (teaches) taught = documentId;
    return { id, status: 'answered', message };
  });
  return { results, document_id: taught ?? null };
}
