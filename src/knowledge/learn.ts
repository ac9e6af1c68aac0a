import type { Author, MerchantId } from '../contract/ids.ts';
import type { Document } from '../contract/knowledge.ts';
import type { Learned as Teaching } from '../contract/teaching.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { lockDocument } from './documents/lock.ts';
import { type Content, isBodyTooLong, titleFrom } from './documents/texts.ts';
import type { Origin } from './documents/versions.ts';
import { insertWordings, withoutKnown } from './documents/wordingRows.ts';
import { writeWordings } from './documents/wordings.ts';
import { createDocument, isSame, writeVersions } from './documents/write.ts';
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

/** What was learned from an answer: by which version of which document. */
export interface Learned {
  do: Teaching;
  documentId: number;
  version: number;
}

/** A lesson of a document that exists. */
interface Planned {
  learned: Learned;
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

/**
 * Learns from an answer, in the transaction of the answer. A document that exists is changed, otherwise a new one is made,
 * but "Yes!" makes none unless somebody asks for it. Undefined if nothing was learned. `newId` is for a new document.
 */
export async function learn(
  tx: Queries,
  merchantId: MerchantId,
  lesson: Lesson,
  newId?: number,
): Promise<Learned | undefined> {
  const planned = await planLesson(tx, merchantId, lesson);
  if (planned) {
    await writeLesson(tx, merchantId, planned, lesson);
    return planned.learned;
  }
  if (lesson.teach === undefined && saysNothing(lesson.answer)) return undefined;
  const { id, version } = await createDocument(tx, merchantId, contentOf(lesson), originOf(lesson), newId);
  return { do: 'new', documentId: id, version };
}

/**
 * What a lesson does to a document, which is locked until the transaction ends. An answer that was taken from a document
 * adds the question to its wordings. Another one is written into the document that the notification refers to, which
 * also gets the question as a wording. Undefined if the merchant has none of them.
 */
async function planLesson(tx: Queries, merchantId: MerchantId, lesson: Lesson): Promise<Planned | undefined> {
  const { teach, sourceId, documentId, answer } = lesson;
  if (teach && !('documentId' in teach)) return undefined;
  if (teach) {
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

function planned(document: Document, content: Content, what: Teaching): Planned {
  const changes = !isSame(document, content);
  const version = document.version + (changes ? 1 : 0);
  return { learned: { do: changes ? what : 'wording', documentId: document.id, version }, document, content };
}

/** Writes what `planLesson` returned. */
async function writeLesson(
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
