import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { findTaught } from '../../knowledge/taught.ts';
import { readAnswered } from '../groups/store.ts';
import { readContext } from '../kinds.ts';

/** The document that learned this answer from one of these notifications. */
export async function findLesson(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  answer: string,
): Promise<number | undefined> {
  for (const row of await readAnswered(queries, merchantId, ids)) {
    const { question, documentId } = readContext(row);
    const asked = { notificationId: row.id, question, answer, documentId };
    const found = await findTaught(queries, merchantId, asked);
    if (found !== undefined) return found;
  }
  return undefined;
}
