import { recordEvent, type Who } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { lastOwner, userNotFound } from '../errors.ts';
import { revokeMachineKey } from './machineKeys/store.ts';
import { removeResets } from './passwords/reset.ts';
import { endSessionsOf } from './sessions/store.ts';
import { hasOtherOwner, isActiveOwner, lockTeam } from './team/members.ts';

/** Nobody of this merchant can sign in any more, and no key works. */
export async function disableTeam(tx: Transaction, merchantId: MerchantId, at: Date): Promise<void> {
  const users = await tx.run<{ id: number }>(
    'update users set disabled_at = coalesce(disabled_at, $2) where merchant_id = $1 returning id',
    [merchantId, at.toISOString()],
  );
  for (const { id } of users) {
    await endSessionsOf(tx, id, at);
    await removeResets(tx, id);
  }
  const keys = await tx.all<{ id: number }>(
    'select id from machine_keys where merchant_id = $1 and revoked_at is null',
    [merchantId],
  );
  for (const { id } of keys) await revokeMachineKey(tx, merchantId, id, at);
  await tx.run('delete from invites where merchant_id = $1', [merchantId]);
}

/** The name that histories show instead. */
export const FORMER = 'A former colleague';

interface LeavingUser {
  merchant_id: MerchantId | null;
  name: string;
}

/**
 * Nobody can sign in with this account any more, and nothing says whose it was. The row stays, so that histories can say
 * that it was somebody who has left.
 */
export async function closeAccount(
  tx: Transaction,
  userId: number,
  { who, at }: { who: Who; at: Date },
): Promise<LeavingUser> {
  const user = await tx.one<
    LeavingUser & { role: 'owner' | 'user'; disabled_at: string | null; email: string }
  >(
    'select id, merchant_id, name, role, disabled_at, email from users where id = $1 and deleted_at is null',
    [userId],
  );
  if (!user) throw userNotFound();
  const { merchant_id: merchantId, email } = user;
  if (merchantId !== null) {
    await lockTeam(tx, merchantId);
    if (isActiveOwner(user) && !(await hasOtherOwner(tx, merchantId, userId))) throw lastOwner();
    await tx.run('delete from invites where merchant_id = $1 and email = $2', [merchantId, email]);
  }
  await endSessionsOf(tx, userId, at);
  await tx.run(
    `update users set name = $2, email = $3, email_key = $3, password_hash = '', role = 'user', second_factor_at = null,
        disabled_at = coalesce(disabled_at, $4), deleted_at = $4
      where id = $1`,
    [userId, FORMER, `deleted-${userId}`, at.toISOString()],
  );
  await recordEvent(tx, { what: 'user.deleted', merchantId, who, at, about: { user_id: userId } });
  return { merchant_id: merchantId, name: user.name };
}

/** Whether somebody else of the merchant has the same name. */
export async function hasNamesake(queries: Queries, merchantId: MerchantId, name: string): Promise<boolean> {
  const sql = 'select id from users where merchant_id = $1 and name = $2 limit 1';
  return (await queries.one(sql, [merchantId, name])) !== undefined;
}
