import { recordEvent, type Who } from '../../audit/record.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../../database/database.ts';
import { FOR_UPDATE } from '../../database/ids.ts';
import { tokenInvalid } from '../../errors.ts';
import { userAt } from '../events.ts';
import { endSessionsOf, isOpenSession } from '../sessions/store.ts';
import type { FactorCaller } from './prove.ts';
import { replaceRecoveryCodes } from './recoveryCodes.ts';

type FactorEvent =
  | { what: 'factor.added' | 'factor.removed'; factor: 'totp' | 'passkey' | 'all' }
  | { what: 'recovery_codes.created' };

/** Who changes the factors, and the session that stays open. All others of the user end. */
interface FactorChange {
  userId: number;
  sessionId: string | undefined;
  event: FactorEvent;
  by: Who;
  at: Date;
}

export const changeBy = (
  { userId, sessionId, address }: FactorCaller,
  event: FactorEvent,
  at: Date,
): FactorChange => ({ userId, sessionId, event, by: userAt(userId, address), at });

/**
 * Changes the factors of a user, one change at a time, and ends the other sessions. Returns the new recovery codes,
 * which come with the first factor and go with the last, or undefined if `change` returns false: there was nothing to
 * change. Throws if the caller's session has ended.
 */
export async function changeFactors(
  database: Database,
  { userId, sessionId, event, by, at }: FactorChange,
  change: (tx: Transaction) => Promise<boolean>,
): Promise<string[] | undefined> {
  const codes = await database.transaction(async (tx) => {
    const before = await lockUser(tx, userId, sessionId);
    if (!before) throw tokenInvalid();
    if (!(await change(tx))) return undefined;
    const { what, ...about } = event;
    await recordEvent(tx, {
      what,
      merchantId: before.merchant_id,
      who: by,
      at,
      about: { user_id: userId, ...about },
    });
    await endSessionsOf(tx, userId, at, sessionId);
    const hasFactor = (await countFactors(tx, userId)) > 0;
    await tx.run('update users set second_factor_at = $2 where id = $1', [
      userId,
      // A new time with every change: a sign-in that began before it opens no session.
      hasFactor ? at.toISOString() : null,
    ]);
    if (!hasFactor) await tx.run('delete from recovery_codes where user_id = $1', [userId]);
    const isFirst = hasFactor && before.second_factor_at === null;
    return isFirst || what === 'recovery_codes.created' ? replaceRecoveryCodes(tx, userId) : [];
  });
  if (codes) database.signal(REVOCATIONS);
  return codes;
}

/**
 * For the operator: the user signs in with the password alone, and is signed out everywhere. Returns false if there was
 * no second factor.
 */
export async function resetFactors(database: Database, userId: number, by: Who, at: Date): Promise<boolean> {
  const event = { what: 'factor.removed', factor: 'all' } as const;
  const codes = await changeFactors(database, { userId, sessionId: undefined, event, by, at }, async (tx) => {
    const secrets = await tx.run('delete from totp_secrets where user_id = $1 returning user_id', [userId]);
    const passkeys = await tx.run('delete from passkeys where user_id = $1 returning id', [userId]);
    return secrets.length + passkeys.length > 0;
  });
  return codes !== undefined;
}

/** Returns undefined if the session has ended. */
async function lockUser(
  tx: Transaction,
  userId: number,
  sessionId: string | undefined,
): Promise<{ merchant_id: number | null; second_factor_at: string | null } | undefined> {
  const user = await tx.one<{ merchant_id: number | null; second_factor_at: string | null }>(
    `select merchant_id, second_factor_at from users where id = $1
      ${FOR_UPDATE[tx.engine]}`,
    [userId],
  );
  return sessionId === undefined || (await isOpenSession(tx, sessionId)) ? user : undefined;
}

/** The factors that are in use: not a secret that was never confirmed. */
export async function countFactors(queries: Queries, userId: number): Promise<number> {
  const row = await queries.one<{ count: number }>(
    `select (select count(*) from totp_secrets where user_id = $1 and confirmed_at is not null)
      + (select count(*) from passkeys where user_id = $1) as count`,
    [userId],
  );
  return row!.count;
}
