import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import type { Sealed, Vault } from '../secrets.ts';
import type { Mail } from './mailer.ts';

/** The mails that wait to be sent: the only SQL on mails. */

/** The signal after a commit that added a mail. */
export const MAILS = 'deskbell_mails';

/**
 * Every kind of mail, and how many of it a recipient (from all shops together) and a shop may get, so that nobody can use
 * us to flood somebody. A new kind is an entry here.
 */
export const KINDS = {
  invite: { perRecipient: 5, perMerchant: 100, withinMs: 24 * 60 * 60_000 },
  password_reset: { perRecipient: 5, perMerchant: 500, withinMs: 60 * 60_000 },
  /** Somebody forgot a password. It becomes a `password_reset` if the account exists: see src/auth/passwords/reset.ts. */
  password_forgotten: { perRecipient: 5, perMerchant: undefined, withinMs: 60 * 60_000 },
  alert: { perRecipient: 30, perMerchant: 500, withinMs: 60 * 60_000 },
} as const;
export type MailKind = keyof typeof KINDS;

/** The shop of mails that belong to none. */
export const NO_MERCHANT = 0;

interface NewMail extends Mail {
  kind: MailKind;
  at: Date;
  /** Not sent after this. */
  expiresAt?: Date;
}

/** More than one while the key changes. The first is stored. */
const recipientsOf = (vault: Vault, to: string) =>
  vault.fingerprints(to.trim().toLowerCase(), 'mail recipient');
const purposeOf = (merchantId: number) => `mail of merchant ${merchantId}`;

export const SEALED_MAILS: Sealed = {
  table: 'mails',
  about: 'mails to be sent',
  key: { merchant_id: -1, id: 0 },
  column: 'sealed',
  purposeOf: ({ merchant_id }) => purposeOf(Number(merchant_id)),
};

/**
 * Adds a mail, in the caller's transaction. Signal `MAILS` after the commit. Returns false, without a mail, if the
 * recipient or the shop has had too many of this kind.
 */
export async function enqueueMail(
  tx: Transaction,
  vault: Vault,
  merchantId: number,
  { kind, to, subject, text, at, expiresAt }: NewMail,
): Promise<boolean> {
  const recipients = recipientsOf(vault, to);
  const recipient = recipients[0]!;
  const { perRecipient, perMerchant, withinMs } = KINDS[kind];
  // Of many at the same time, each counts those before it.
  if (perMerchant !== undefined) await tx.lock(`mails of ${merchantId}`);
  await tx.lock(`mails to ${recipient}`);
  const since = new Date(at.getTime() - withinMs).toISOString();
  const isFull = async (column: 'recipient' | 'merchant_id', value: string | number, max: number) => {
    const row = await tx.one(
      `select id from mails where ${column} = $1 and kind = $2 and created_at > $3
        order by created_at limit 1 offset $4`,
      [value, kind, since, max - 1],
    );
    return row !== undefined;
  };
  // From all shops: on a cluster this visits every node, by an index. Nobody causes more mails than the limits allow.
  for (const one of recipients) if (await isFull('recipient', one, perRecipient)) return false;
  if (perMerchant !== undefined && (await isFull('merchant_id', merchantId, perMerchant))) return false;
  const sealed = vault.seal(JSON.stringify({ to, subject, text } satisfies Mail), purposeOf(merchantId));
  const time = at.toISOString();
  const row = {
    ...{ merchant_id: merchantId as MerchantId, kind, recipient, sealed, message_id: randomUUID() },
    ...{ due_at: time, expires_at: expiresAt?.toISOString() ?? null, created_at: time },
  };
  await insertRows(tx, 'mails', [row], { returning: 'id' });
  return true;
}

/** The oldest first. Reads without locks: see `claimMail`. */
export const dueMails = (
  queries: Queries,
  at: Date,
  limit: number,
): Promise<Pick<ClaimedMail, 'merchant_id' | 'id'>[]> =>
  queries.all(
    `select merchant_id, id from mails where state = 'queued' and due_at <= $1 order by due_at limit $2`,
    [at.toISOString(), limit],
  );

export interface ClaimedMail {
  /** 0 if it belongs to none. */
  merchant_id: MerchantId;
  id: number;
  kind: MailKind;
  attempts: number;
  expires_at: string | null;
  message_id: string;
  sealed: string;
  /** Until when nobody else takes it. Only the holder writes the outcome. */
  lease: string;
}

/** Takes a mail until the lease ends. Undefined if somebody else has taken it. */
export async function claimMail(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  { at, lease }: { at: Date; lease: Date },
): Promise<ClaimedMail | undefined> {
  const [row] = await queries.run<ClaimedMail>(
    `update mails set due_at = $3, attempts = attempts + 1
      where merchant_id = $1 and id = $2 and due_at <= $4 and state = 'queued'
      returning merchant_id, id, kind, attempts, expires_at, message_id, sealed, due_at as lease`,
    [merchantId, id, lease.toISOString(), at.toISOString()],
  );
  return row;
}

export const unseal = (vault: Vault, { merchant_id, sealed }: ClaimedMail): Mail =>
  JSON.parse(vault.open(sealed, purposeOf(merchant_id)));

/** What became of the newest mail of a kind to somebody, from a shop. Undefined if there was none. */
export async function findMailState(
  queries: Queries,
  vault: Vault,
  merchantId: number,
  kind: MailKind,
  to: string,
): Promise<'queued' | 'retrying' | 'sent' | 'failed' | undefined> {
  for (const recipient of recipientsOf(vault, to)) {
    const row = await queries.one<{ state: 'queued' | 'sent' | 'failed'; code: string | null }>(
      `select state, code from mails where recipient = $1 and kind = $2 and merchant_id = $3
        order by created_at desc limit 1`,
      [recipient, kind, merchantId],
    );
    if (row) return row.state === 'queued' && row.code !== null ? 'retrying' : row.state;
  }
  return undefined;
}

/** Sent or given up: what it said is removed. */
export async function finishMail(
  queries: Queries,
  { merchant_id, id, lease }: ClaimedMail,
  state: 'sent' | 'failed',
  code: string | null,
): Promise<boolean> {
  const rows = await queries.run(
    `update mails set state = $4, code = $5, sealed = null
      where merchant_id = $1 and id = $2 and due_at = $3 and state = 'queued' returning id`,
    [merchant_id, id, lease, state, code],
  );
  return rows.length > 0;
}

export async function retryMail(
  queries: Queries,
  { merchant_id, id, lease }: ClaimedMail,
  dueAt: Date,
  code: string,
): Promise<void> {
  await queries.run(
    `update mails set due_at = $4, code = $5
      where merchant_id = $1 and id = $2 and due_at = $3 and state = 'queued' returning id`,
    [merchant_id, id, lease, dueAt.toISOString(), code],
  );
}

/** How many wait to be sent. */
export async function countQueuedMails(queries: Queries): Promise<number> {
  const row = await queries.one<{ count: number }>(
    `select count(*) as count from mails where state = 'queued'`,
  );
  return row!.count;
}
