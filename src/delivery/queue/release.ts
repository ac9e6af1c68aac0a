import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';

/** Makes due what waits because of the old settings: the new ones may let it go. */
export async function lookAgain(
  tx: Queries,
  merchantId: MerchantId,
  waitingFor: 'limit' | 'customer',
  at: Date,
): Promise<void> {
  await tx.run(
    `update deliveries set due_at = $3
      where merchant_id = $1 and state = 'waiting' and waiting_for = $2 and due_at > $3`,
    [merchantId, waitingFor, at.toISOString()],
  );
}
