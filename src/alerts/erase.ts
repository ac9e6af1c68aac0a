import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Transaction } from '../database/database.ts';
import { listOwn, removeSubscription } from './subscriptions.ts';

/** Somebody has left: their devices get nothing any more. */
export async function forgetAlerts(tx: Transaction, merchantId: MerchantId, userId: UserId): Promise<void> {
  for (const id of await listOwn(tx, merchantId, userId)) await removeSubscription(tx, merchantId, id);
  await tx.run('delete from alert_settings where merchant_id = $1 and user_id = $2', [merchantId, userId]);
}
