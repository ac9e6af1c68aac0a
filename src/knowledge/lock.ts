import type { MerchantId } from '../contract/ids.ts';
import type { Transaction } from '../database/database.ts';
import { LOCKED } from './fulltext.ts';

/** Locks a document until the transaction ends, for a caller that writes other rows before it changes the document. */
export async function lockDocument(tx: Transaction, merchantId: MerchantId, id: number): Promise<void> {
  if (!Number.isSafeInteger(id)) return;
  await tx.one(`select id from documents where merchant_id = $1 and id = $2 ${LOCKED[tx.engine]}`, [
    merchantId,
    id,
  ]);
}
