import { recordEvent } from '../../audit/record.ts';
import type { UserId } from '../../contract/ids.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../../database/database.ts';
import { type ClaimedMail, enqueueMail, finishMail, MAILS, NO_MERCHANT } from '../../mail/queue.ts';
import type { Vault } from '../../secrets.ts';
import { emailKeyOf } from '../email.ts';
import { userAt } from '../events.ts';
import { resetMail, type Shop } from '../mailTexts.ts';
import { createOneTimeToken, type OneTimeToken } from '../oneTimeToken.ts';
import { afterNewPassword } from '../users.ts';

/** Links for people who forgot their password: the only SQL on password_resets, except that a new password removes them. */

const VALID_MS = 60 * 60_000;

/** With the owner who makes it, for somebody else: earlier links no longer work then. */
export async function createResetToken(
  tx: Transaction,
  userId: number,
  at: Date,
  by?: UserId,
): Promise<{ text: string; expiresAt: Date }> {
  if (by !== undefined) await removeResets(tx, userId);
  const { hash, text } = createOneTimeToken(userId);
  const expiresAt = new Date(at.getTime() + VALID_MS);
  await tx.run(
    'insert into password_resets (user_id, token_hash, expires_at, created_by) values ($1, $2, $3, $4)',
    [userId, hash, expiresAt.toISOString(), by ?? null],
  );
  return { text, expiresAt };
}

export async function removeResets(tx: Transaction, userId: number): Promise<void> {
  await tx.run('delete from password_resets where user_id = $1', [userId]);
}

/** Those that this owner has made for others. */
export async function removeResetsMadeBy(tx: Transaction, userId: number): Promise<void> {
  await tx.run('delete from password_resets where created_by = $1', [userId]);
}

interface ForgottenParts {
  database: Database;
  vault: Vault;
  publicUrl: string;
  shopOf: (merchantId: number) => Promise<Shop | undefined>;
  now: () => Date;
}

/**
 * What becomes of a mail `password_forgotten`: a link, if there is such an account. The worker does it, not the request:
 * so a request does the same work for every address, and its time tells nothing.
 */
export const createExpandForgotten =
  ({ database, vault, publicUrl, shopOf, now }: ForgottenParts) =>
  async (mail: ClaimedMail, to: string): Promise<void> => {
    const at = now();
    const user = await database.one<{ id: number; merchant_id: number | null; email: string }>(
      'select id, merchant_id, email from users where email_key = $1 and disabled_at is null',
      [emailKeyOf(to)],
    );
    const merchantId = user?.merchant_id ?? NO_MERCHANT;
    const shop = merchantId === NO_MERCHANT ? undefined : await shopOf(merchantId);
    await database.transaction(async (tx) => {
      if (!(await finishMail(tx, mail, 'sent', null)) || !user) return;
      const { text, expiresAt } = await createResetToken(tx, user.id, at);
      const content = resetMail(shop?.language ?? null, `${publicUrl}/reset-password#${text}`);
      // To the address of the account, which may be written differently.
      await enqueueMail(tx, vault, merchantId, {
        ...{ kind: 'password_reset', to: user.email, ...content, at, expiresAt },
      });
      const about = { user_id: user.id };
      const event = { merchantId: user.merchant_id, who: { kind: 'server' } as const, at, about };
      await recordEvent(tx, { what: 'user.reset_requested', ...event });
    });
    database.signal(MAILS);
  };

export interface ResettingUser {
  id: number;
  merchant_id: number | null;
  email: string;
  name: string;
}

/** Undefined if the link has expired, was used, or is for somebody who is disabled. */
export const findResettingUser = (
  database: Database,
  token: OneTimeToken,
  at: Date,
): Promise<ResettingUser | undefined> =>
  database.one(
    `select u.id, u.merchant_id, u.email, u.name from users u
      join password_resets r on r.user_id = u.id
      where u.id = $1 and u.disabled_at is null and r.token_hash = $2 and r.expires_at > $3`,
    [token.id, token.hash, at.toISOString()],
  );

/** Sets the password, once. All sessions end, and all links of this person. Returns false if it was used meanwhile. */
export async function resetPassword(
  database: Database,
  token: OneTimeToken,
  { passwordHash, address, at }: { passwordHash: string; address: string; at: Date },
): Promise<boolean> {
  const isReset = await database.transaction(async (tx) => {
    const used = await tx.run(
      `delete from password_resets where user_id = $1 and token_hash = $2 and expires_at > $3 returning user_id`,
      [token.id, token.hash, at.toISOString()],
    );
    if (used.length === 0) return false;
    const [user] = await tx.run<{ id: number; merchant_id: number | null; email: string }>(
      `update users set password_hash = $2 where id = $1 and disabled_at is null
        returning id, merchant_id, email`,
      [token.id, passwordHash],
    );
    if (user) await afterNewPassword(tx, user, { at, by: userAt(user.id, address) });
    return user !== undefined;
  });
  if (isReset) database.signal(REVOCATIONS);
  return isReset;
}

/** No link works any more. */
export async function removeAllResets(queries: Queries): Promise<void> {
  await queries.run('delete from password_resets');
}
