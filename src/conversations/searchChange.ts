import type { MerchantId } from '../contract/ids.ts';
import type { Param, Transaction } from '../database/database.ts';

/** The inbox is searched by the names and numbers of customers: the questions of these must be indexed again. */
export async function customersChanged(
  tx: Transaction,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<void> {
  if (conversationIds.length === 0) return;
  const params: Param[] = [merchantId, ...conversationIds];
  await tx.run(
    `insert into inbox_changes (merchant_id, conversation_id)
      values ${conversationIds.map((_, index) => `($1, $${index + 2})`)}`,
    params,
  );
}
