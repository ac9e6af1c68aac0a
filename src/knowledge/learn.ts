import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { changeDocument, createDocument, type Origin } from './store.ts';
import { titleFrom } from './texts.ts';

export interface Lesson {
  /** The document that the question named, if it named one. */
  documentId: number | undefined;
  question: string;
  answer: string;
  notificationId: number;
  userId: UserId;
  at: Date;
}

/** Puts an answer into the knowledge base, in the answer's transaction: both are written or neither. */
export async function learn(
  tx: Queries,
  merchantId: MerchantId,
  { documentId, question, answer, notificationId, userId, at }: Lesson,
): Promise<{ documentId: number; created: boolean }> {
  const body = storableText(answer);
  const origin: Origin = { what: 'answer', userId, notificationId, at };
  const named = documentId !== undefined && Number.isSafeInteger(documentId) ? documentId : 0;
  const changed =
    named > 0 && (await changeDocument(tx, merchantId, named, ({ title }) => ({ title, body }), origin));
  if (changed) return { documentId: changed.id, created: false };
  const { id } = await createDocument(tx, merchantId, { title: titleFrom(question), body }, origin);
  return { documentId: id, created: true };
}
