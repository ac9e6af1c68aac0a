import type { Author, MerchantId } from '../contract/ids.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { createDocumentSteps, DOCUMENT_CREATED } from './documents/createSteps.ts';
import type { Origin } from './documents/versions.ts';
import { changeDocument, createDocument } from './documents/write.ts';
import { type Content, titleFrom } from './texts.ts';

export interface Lesson {
  /** The document that the notification refers to, if any. */
  documentId: number | undefined;
  question: string;
  answer: string;
  notificationId: number;
  author: Author;
  at: Date;
}

const contentOf = ({ question, answer }: Lesson): Content => ({
  title: titleFrom(question),
  body: storableText(answer),
});
const originOf = ({ author, notificationId, at }: Lesson): Origin => ({
  what: 'answer',
  author,
  notificationId,
  at,
});

/**
 * Makes a document from an answer, in the same statement as the answer: both are written or neither. The events are for
 * `logStep`.
 */
export const learnSteps = (
  merchantId: MerchantId,
  lesson: Lesson,
  after: string,
): { steps: Step[]; events: string[] } => ({
  steps: createDocumentSteps(merchantId, contentOf(lesson), originOf(lesson), after),
  events: [DOCUMENT_CREATED],
});

/** Writes an answer into the document that the notification refers to, or into a new one. */
export async function learn(
  tx: Queries,
  merchantId: MerchantId,
  lesson: Lesson,
): Promise<{ documentId: number; created: boolean }> {
  const content = contentOf(lesson);
  const { documentId = 0 } = lesson;
  const changed =
    documentId > 0 &&
    Number.isSafeInteger(documentId) &&
    (await changeDocument(
      tx,
      merchantId,
      documentId,
      ({ title }) => ({ title, body: content.body }),
      originOf(lesson),
    ));
  if (changed) return { documentId: changed.id, created: false };
  const { id } = await createDocument(tx, merchantId, content, originOf(lesson));
  return { documentId: id, created: true };
}
