import type { Author, MerchantId } from '../contract/ids.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { createDocumentSteps, DOCUMENT_CREATED } from './documents/createSteps.ts';
import { lockDocument } from './documents/lock.ts';
import { type Content, titleFrom } from './documents/texts.ts';
import type { Origin } from './documents/versions.ts';
import { insertWordings, withoutKnown } from './documents/wordingRows.ts';
import { addWordings, writeWordings } from './documents/wordings.ts';
import { createDocument, isSame, writeVersions } from './documents/write.ts';

export interface Lesson {
  /** The document that the answer was taken from, if any. */
  sourceId?: number | undefined;
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

/** Locks the document that `learn` will change, for a caller that writes other rows first. */
export async function lockLesson(
  tx: Queries,
  merchantId: MerchantId,
  { sourceId, documentId }: Lesson,
): Promise<void> {
  if (await lockDocument(tx, merchantId, sourceId)) return;
  await lockDocument(tx, merchantId, documentId);
}

/**
 * An answer that was taken from a document adds the question to its wordings. Another one is written into the document
 * that the notification refers to, which also gets the question as a wording, or into a new one.
 */
export async function learn(
  tx: Queries,
  merchantId: MerchantId,
  lesson: Lesson,
): Promise<{ documentId: number; created: boolean }> {
  const content = contentOf(lesson);
  const origin = originOf(lesson);
  const { sourceId, documentId, notificationId } = lesson;
  const wordings = [{ text: content.title, notificationId }];
  const source =
    sourceId === undefined ? undefined : await addWordings(tx, merchantId, sourceId, wordings, lesson);
  if (source) return { documentId: source.id, created: false };

  const document = await lockDocument(tx, merchantId, documentId);
  if (!document) {
    const { id } = await createDocument(tx, merchantId, content, origin);
    return { documentId: id, created: true };
  }
  const { id, title } = document;
  const next = { title, body: content.body };
  const added = await withoutKnown(tx, merchantId, [{ document, wordings }]);
  if (isSame(document, next)) {
    await writeWordings(tx, merchantId, added, lesson);
  } else {
    await insertWordings(tx, merchantId, added, lesson);
    // It also indexes the wordings.
    await writeVersions(tx, merchantId, [{ id, content: next }], origin);
  }
  return { documentId: id, created: false };
}
