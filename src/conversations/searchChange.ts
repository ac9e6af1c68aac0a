import type { MerchantId } from '../contract/ids.ts';
import type { Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';

/** The inbox is searched by the names and numbers of customers: the questions of these must be indexed again. */
export async function customersChanged(
  tx: Transaction,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<void> {
  const rows = conversationIds.map((id) => ({ merchant_id: merchantId, conversation_id: id }));
  await insertRows(tx, 'inbox_changes', rows);
}
