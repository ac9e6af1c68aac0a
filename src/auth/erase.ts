import type { MerchantId } from '../contract/ids.ts';
import type { Transaction } from '../database/database.ts';
import { revokeMachineKey } from './machineKeys/store.ts';
import { endSessionsOf } from './sessions/store.ts';

/** Nobody of this merchant can sign in any more, and no key works. */
export async function disableTeam(tx: Transaction, merchantId: MerchantId, at: Date): Promise<void> {
  const users = await tx.run<{ id: number }>(
    'update users set disabled_at = coalesce(disabled_at, $2) where merchant_id = $1 returning id',
    [merchantId, at.toISOString()],
  );
  for (const { id } of users) await endSessionsOf(tx, id, at);
  const keys = await tx.all<{ id: number }>(
    'select id from machine_keys where merchant_id = $1 and revoked_at is null',
    [merchantId],
  );
  for (const { id } of keys) await revokeMachineKey(tx, merchantId, id, at);
  await tx.run('delete from invites where merchant_id = $1', [merchantId]);
  await tx.run('delete from password_resets where user_id in (select id from users where merchant_id = $1)', [
    merchantId,
  ]);
}
