import { recordEvent, type Who } from '../../audit/record.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../../database/database.ts';
import type { Expiring } from '../../database/expiry.ts';
import { endSessionsOf, isOpenSession } from '../sessions/store.ts';
import { CHALLENGE_TTL_MS } from './challenges.ts';
import { newRecoveryCodes, recoveryCodeHash } from './recoveryCodes.ts';

/** The user of a request that reads or changes factors. */
export interface FactorUser {
  id: number;
  merchant_id: number | null;
  email: string;
  name: string;
  disabled_at: string | null;
}

export function findFactorUser(queries: Queries, userId: number): Promise<FactorUser | undefined> {
  return queries.one('select id, merchant_id, email, name, disabled_at from users where id = $1', [userId]);
}

/** Who changes the factors, and the session that stays open. All others of the user end. */
export interface FactorChange {
  userId: number;
  sessionId: string | undefined;
  what: 'factor.added' | 'factor.removed';
  factor: 'totp' | 'passkey' | 'all';
  by: Who;
  at: Date;
}

/**
 * Changes the factors of a user, one change at a time. `change` returns false if there was nothing to change. The first
 * factor comes with recovery codes, which are returned this once. They go with the last factor.
 */
export async function changeFactors(
  database: Database,
  { userId, sessionId, what, factor, by, at }: FactorChange,
  change: (tx: Transaction) => Promise<boolean>,
): Promise<{ changed: boolean; recoveryCodes: string[] }> {
  const result = await database.transaction(async (tx) => {
    const before = await lockUser(tx, userId, sessionId);
    if (!before || !(await change(tx))) return { changed: false, recoveryCodes: [] };
    const hasFactor = (await countFactors(tx, userId)) > 0;
    await tx.run('update users set second_factor_at = $2 where id = $1', [
      userId,
      // A new time with every change: a sign-in that began before it opens no session.
      hasFactor ? at.toISOString() : null,
    ]);
    await endSessionsOf(tx, userId, at, sessionId);
    if (!hasFactor) await tx.run('delete from recovery_codes where user_id = $1', [userId]);
    const about = { user_id: userId, factor };
    await recordEvent(tx, { what, merchantId: before.merchant_id, who: by, at, about });
    const isFirst = hasFactor && before.second_factor_at === null;
    return { changed: true, recoveryCodes: isFirst ? await replaceRecoveryCodes(tx, userId) : [] };
  });
  if (result.changed) database.signal(REVOCATIONS);
  return result;
}

/**
 * For the operator: the user signs in with the password alone, and is signed out everywhere. Returns false if there was
 * no second factor.
 */
export async function resetFactors(database: Database, userId: number, by: Who, at: Date): Promise<boolean> {
  const reset: FactorChange = { userId, sessionId: undefined, what: 'factor.removed', factor: 'all', by, at };
  const { changed } = await changeFactors(database, reset, async (tx) => {
    const secrets = await tx.run('delete from totp_secrets where user_id = $1 returning user_id', [userId]);
    const passkeys = await tx.run('delete from passkeys where user_id = $1 returning id', [userId]);
    return secrets.length + passkeys.length > 0;
  });
  return changed;
}

function lockUser(
  tx: Transaction,
  userId: number,
  /** If given, it must still be open. */
  sessionId = '',
): Promise<{ merchant_id: number | null; second_factor_at: string | null } | undefined> {
  const locked = tx.engine === 'postgres' ? 'for update' : '';
  return tx.one(
    `select merchant_id, second_factor_at from users where id = $1 and ($2 = '' or ${isOpenSession('$2')}) ${locked}`,
    [userId, sessionId],
  );
}

async function countFactors(queries: Queries, userId: number): Promise<number> {
  const row = await queries.one<{ count: number }>(
    `select (select count(*) from totp_secrets where user_id = $1 and confirmed_at is not null)
      + (select count(*) from passkeys where user_id = $1) as count`,
    [userId],
  );
  return row!.count;
}

// Authenticator app

/** Replaces a secret that was not confirmed. Returns false if there is a confirmed one. */
export async function storeTotp(
  queries: Queries,
  totp: { userId: number; sealedSecret: string; at: Date },
): Promise<boolean> {
  const rows = await queries.run(
    `insert into totp_secrets (user_id, sealed_secret, created_at) values ($1, $2, $3)
      on conflict (user_id) do update set sealed_secret = excluded.sealed_secret, created_at = excluded.created_at
        where totp_secrets.confirmed_at is null
      returning user_id`,
    [totp.userId, totp.sealedSecret, totp.at.toISOString()],
  );
  return rows.length > 0;
}

export interface Totp {
  sealed_secret: string;
  created_at: string;
  confirmed_at: string | null;
}

export function findTotp(queries: Queries, userId: number): Promise<Totp | undefined> {
  return queries.one('select sealed_secret, created_at, confirmed_at from totp_secrets where user_id = $1', [
    userId,
  ]);
}

export async function confirmTotp(
  queries: Queries,
  userId: number,
  { sealedSecret, step, at }: { sealedSecret: string; step: number; at: Date },
): Promise<boolean> {
  const rows = await queries.run(
    `update totp_secrets set confirmed_at = $2, last_step = $3
      where user_id = $1 and sealed_secret = $4 and confirmed_at is null returning user_id`,
    [userId, at.toISOString(), step, sealedSecret],
  );
  return rows.length > 0;
}

/** Returns false if this code, or a later one, was used before. Of two requests with one code, one wins. */
export async function useTimeStep(queries: Queries, userId: number, step: number): Promise<boolean> {
  const rows = await queries.run(
    `update totp_secrets set last_step = $2
      where user_id = $1 and confirmed_at is not null and last_step < $2 returning user_id`,
    [userId, step],
  );
  return rows.length > 0;
}

export async function removeTotp(queries: Queries, userId: number): Promise<boolean> {
  const rows = await queries.run<Totp>(
    'delete from totp_secrets where user_id = $1 and confirmed_at is not null returning user_id',
    [userId],
  );
  return rows.length > 0;
}

// Recovery codes

/** Returns the new codes. Only their hashes are stored. */
async function replaceRecoveryCodes(tx: Transaction, userId: number): Promise<string[]> {
  const codes = newRecoveryCodes();
  await tx.run('delete from recovery_codes where user_id = $1', [userId]);
  const rows = codes.map((_, index) => `($1, $${index + 2})`).join(', ');
  await tx.run(`insert into recovery_codes (user_id, code_hash) values ${rows}`, [
    userId,
    ...codes.map((code) => recoveryCodeHash(userId, code)),
  ]);
  return codes;
}

/** Returns undefined if the user has no second factor. */
export function renewRecoveryCodes(
  database: Database,
  userId: number,
  who: Who,
  at: Date,
): Promise<string[] | undefined> {
  return database.transaction(async (tx) => {
    const user = await lockUser(tx, userId);
    if (user?.second_factor_at == null) return undefined;
    await recordEvent(tx, { what: 'recovery_codes.created', merchantId: user.merchant_id, who, at });
    return replaceRecoveryCodes(tx, userId);
  });
}

/** Returns false if there is no such code, or it was used before. */
export async function useRecoveryCode(queries: Queries, userId: number, code: string): Promise<boolean> {
  const rows = await queries.run(
    'delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id',
    [userId, recoveryCodeHash(userId, code)],
  );
  return rows.length > 0;
}

export async function countRecoveryCodes(queries: Queries, userId: number): Promise<number> {
  const row = await queries.one<{ count: number }>(
    'select count(*) as count from recovery_codes where user_id = $1',
    [userId],
  );
  return row!.count;
}

// Passkeys

export interface Passkey {
  id: number;
  user_id: number;
  credential_id: string;
  public_key: string;
  counter: number;
  transports: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

const PASSKEY = 'id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at';

export function listPasskeys(queries: Queries, userId: number): Promise<Passkey[]> {
  return queries.all(`select ${PASSKEY} from passkeys where user_id = $1 order by id`, [userId]);
}

/** Returns false if this passkey was added before, or the user has `max` others. */
export async function insertPasskey(
  queries: Queries,
  passkey: Omit<Passkey, 'id' | 'last_used_at'>,
  max: number,
): Promise<boolean> {
  const rows = await queries.run(
    `insert into passkeys (user_id, credential_id, public_key, counter, transports, name, created_at)
      select cast($1 as bigint), $2, $3, cast($4 as bigint), $5, $6, $7
      where (select count(*) from passkeys where user_id = $1) < ${max}
      on conflict (credential_id) do nothing returning id`,
    [
      passkey.user_id,
      passkey.credential_id,
      passkey.public_key,
      passkey.counter,
      passkey.transports,
      passkey.name,
      passkey.created_at,
    ],
  );
  return rows.length > 0;
}

export async function removePasskey(queries: Queries, userId: number, id: number): Promise<boolean> {
  const rows = await queries.run('delete from passkeys where user_id = $1 and id = $2 returning id', [
    userId,
    id,
  ]);
  return rows.length > 0;
}

export function findPasskey(
  queries: Queries,
  credentialId: string,
): Promise<(Passkey & { email: string; merchant_id: number | null }) | undefined> {
  return queries.one(
    `select p.id, p.user_id, p.credential_id, p.public_key, p.counter, p.transports, p.name, p.created_at,
        p.last_used_at, u.email, u.merchant_id
      from passkeys p join users u on u.id = p.user_id where p.credential_id = $1`,
    [credentialId],
  );
}

/** Returns false if the passkey was removed, or was used by another request since it was read. */
export async function usePasskey(
  queries: Queries,
  { id, counter }: Passkey,
  newCounter: number,
  at: Date,
): Promise<boolean> {
  const rows = await queries.run(
    'update passkeys set counter = $3, last_used_at = $4 where id = $1 and counter = $2 returning id',
    [id, counter, newCounter, at.toISOString()],
  );
  return rows.length > 0;
}

// Challenges

/** Returns false if the challenge was used before. */
export async function useChallenge(queries: Queries, id: string, at: Date): Promise<boolean> {
  const rows = await queries.run(
    'insert into used_challenges (id, expires_at) values ($1, $2) on conflict (id) do nothing returning id',
    [id, new Date(at.getTime() + CHALLENGE_TTL_MS).toISOString()],
  );
  return rows.length > 0;
}

export const EXPIRING_CHALLENGES: Expiring = { table: 'used_challenges', column: 'expires_at', keptMs: 0 };
