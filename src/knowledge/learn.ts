import type { Author, MerchantId } from '../contract/ids.ts';
import type { Document } from '../contract/knowledge.ts';
import type { Learned } from '../contract/teaching.ts';
import type { Insert } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import type { NewEvent } from '../events/record.ts';
import { createDocumentSteps, documentCreated } from './documents/createSteps.ts';
import { lockDocument } from './documents/lock.ts';
import { type Content, isBodyTooLong, titleFrom } from './documents/texts.ts';
import type { Origin } from './documents/versions.ts';
import { insertWordings, withoutKnown } from './documents/wordingRows.ts';
import { writeWordings } from './documents/wordings.ts';
import { isSame, writeVersions } from './documents/write.ts';
import { saysNothing } from './saysNothing.ts';
import { appended, type Teach } from './teach.ts';

export interface Lesson {
  /** What the person who answered wants. Absent: as follows from the documents below. */
  teach?: Teach | undefined;
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

/** A lesson of a document that exists. */
export interface Planned {
  learned: { do: Exclude<Learned, 'new'>; documentId: number; version: number };
  document: Document;
  content: Content;
}

const contentOf = ({ question, answer, teach }: Lesson): Content => ({
  title: teach && 'title' in teach && teach.title !== undefined ? teach.title : titleFrom(question),
  body: storableText(textOf(answer, teach)),
});
const textOf = (answer: string, teach: Teach | undefined) =>
  teach && 'text' in teach ? (teach.text ?? answer) : answer;
const originOf = ({ author, notificationId, at }: Lesson): Origin => ({
  what: 'answer',
  author,
  notificationId,
  at,
});

/** Whether it may change a document that exists: see `planLesson`. Otherwise it makes a new one: see `learnSteps`. */
export const changesDocument = ({ teach, sourceId, documentId }: Lesson): boolean =>
  teach ? 'documentId' in teach : (documentId ?? sourceId) !== undefined;

/** "Yes!" makes no document unless somebody asks for it. */
export const makesDocument = ({ teach, answer }: Lesson): boolean =>
  teach !== undefined || !saysNothing(answer);

/** Makes the document `id` from an answer, in the chain of the answer: both are written or neither. */
export const learnSteps = (
  merchantId: MerchantId,
  lesson: Lesson,
  id: number,
): { steps: Insert[]; events: NewEvent[] } => ({
  steps: createDocumentSteps(merchantId, id, contentOf(lesson), originOf(lesson)),
  events: [documentCreated(id, lesson.at)],
});

/**
 * What a lesson does to a document, which is locked until the transaction ends. An answer that was taken from a document
 * adds the question to its wordings. Another one is written into the document that the notification refers to, which
 * also gets the question as a wording. Undefined if the merchant has none of them.
 */
export async function planLesson(
  tx: Queries,
  merchantId: MerchantId,
  lesson: Lesson,
): Promise<Planned | undefined> {
  const { teach, sourceId, documentId, answer } = lesson;
  if (teach && 'documentId' in teach) {
    const document = await lockDocument(tx, merchantId, teach.documentId);
    const text = storableText(textOf(answer, teach));
    const body = document && teach.do === 'append' ? appended(document.body, text) : text;
    // It may have become longer since this was checked.
    if (!document || isBodyTooLong(body)) return undefined;
    return planned(document, { title: teach.title ?? document.title, body }, teach.do);
  }
  const source = await lockDocument(tx, merchantId, sourceId);
  if (source) return planned(source, source, 'wording');
  const document = await lockDocument(tx, merchantId, documentId);
  return document && planned(document, { title: document.title, body: storableText(answer) }, 'replace');
}

function planned(document: Document, content: Content, what: Planned['learned']['do']): Planned {
  const changes = !isSame(document, content);
  const version = document.version + (changes ? 1 : 0);
  return { learned: { do: changes ? what : 'wording', documentId: document.id, version }, document, content };
}

/** Writes what `planLesson` returned. */
export async function writeLesson(
  tx: Queries,
  merchantId: MerchantId,
  { document, content }: Planned,
  lesson: Lesson,
): Promise<void> {
  const wordings = [{ text: titleFrom(lesson.question), notificationId: lesson.notificationId }];
  const added = await withoutKnown(tx, merchantId, [{ document, wordings }]);
  if (isSame(document, content)) {
    await writeWordings(tx, merchantId, added, lesson);
  } else {
    await insertWordings(tx, merchantId, added, lesson);
    // It also indexes the wordings.
    await writeVersions(tx, merchantId, [{ id: document.id, content }], originOf(lesson));
  }
}
