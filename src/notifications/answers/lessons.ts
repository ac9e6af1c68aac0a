import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { findTaught } from '../../knowledge/taught.ts';
import { questionIn } from '../groups/pending.ts';
import { readAnswered } from '../groups/store.ts';

/** The document that learned this answer from one of these notifications. */
export async function findLesson(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  answer: string,
): Promise<number | undefined> {
  for (const { id, context } of await readAnswered(queries, merchantId, ids)) {
    const { document_id: named } = JSON.parse(context) as { document_id?: unknown };
    const found = await findTaught(queries, merchantId, {
      notificationId: id,
      question: questionIn(context),
      answer,
      documentId: typeof named === 'number' ? named : undefined,
    });
    if (found !== undefined) return found;
  }
  return undefined;
}
