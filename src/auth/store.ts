import { createHash } from 'node:crypto';
import type { Sessions, User } from '../contract/auth.ts';
import { type Database, type Queries, REVOCATIONS } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';
import { createLookup } from '../database/lookup.ts';

export interface Account {
  id: number;
  merchant_id: number | null;
  role: string;
  password_hash: string;
  disabled_at: string | null;
}

/** Failed sign-ins for one account from one address, within the window. */
export const FAILURES_MAX = 10;
const FAILURE_WINDOW_MS = 15 * 60_000;

/** An attempt to sign in. Attempts for unknown accounts are counted in the same way. */
export interface Attempt {
  emailKey: string;
  account: string;
  address: string;
  at: Date;
}

export function attemptOf(email: string, address: string, at: Date): Attempt {
  const emailKey = emailKeyOf(email);
  const account = createHash('sha256').update(emailKey).digest('base64url');
  return { emailKey, account, address, at };
}

/** How email addresses are compared. NUL is replaced, because no text column can hold it. */
export function emailKeyOf(email: string): string {
  return email.trim().toWellFormed().replaceAll('\0', '\ufffd').normalize('NFC').toLowerCase();
}

const windowStart = (at: Date) => new Date(at.getTime() - FAILURE_WINDOW_MS).toISOString();

const RECENT_FAILURES = `
  select failed_at from sign_in_failures where account = $2 and address = $3 and failed_at > $4
    order by failed_at desc limit ${FAILURES_MAX}`;

/** The account, if there is one, and how long to wait if there were too many attempts. */
export async function findAccount(
  queries: Queries,
  { emailKey, account, address, at }: Attempt,
): Promise<{ account: Account | undefined; retryAfterSeconds: number }> {
  const row = await queries.one<(Account | { id: null }) & { failures: number; oldest: string | null }>(
    `select u.id, u.merchant_id, u.role, u.password_hash, u.disabled_at, f.failures, f.oldest
      from (select count(*) as failures, min(failed_at) as oldest from (${RECENT_FAILURES}) recent) f
      left join users u on u.email_key = $1`,
    [emailKey, account, address, windowStart(at)],
  );
  if (!row) throw new Error('an aggregate always returns a row');
  const lockedUntil = row.failures < FAILURES_MAX ? 0 : Date.parse(row.oldest!) + FAILURE_WINDOW_MS;
  return {
    account: row.id === null ? undefined : row,
    retryAfterSeconds: Math.max(0, Math.ceil((lockedUntil - at.getTime()) / 1000)),
  };
}

/** Returns false if other attempts reached the limit while the password was checked. */
export async function recordFailure(queries: Queries, { account, address, at }: Attempt): Promise<boolean> {
  const rows = await queries.run(
    `insert into sign_in_failures (failed_at, account, address)
      select $1, $2, $3 where (select count(*) from (${RECENT_FAILURES}) recent) < ${FAILURES_MAX}
      returning account`,
    [at.toISOString(), account, address, windowStart(at)],
  );
  return rows.length > 0;
}

/**
 * Opens the session, unless other attempts reached the limit or the account was changed while the password was
 * checked: a change ends all sessions of the account, and this one must not survive it.
 */
export async function openSession(
  database: Database,
  session: {
    id: string;
    userId: number;
    passwordHash: string;
    expiresAt: Date;
    address: string;
    /** How many sessions the user may have. The ones that were not used for longest end. */
    perUser: number;
  },
  { account, address, at }: Attempt,
): Promise<boolean> {
  // SQLite runs one write at a time. PostgreSQL waits here for a change that is not committed yet.
  const waiting = database.engine === 'postgres' ? 'for share of u' : '';
  const rows = await database.run(
    `insert into sessions (id, user_id, created_at, expires_at, last_used_at, address)
      select $1, u.id, $6, $7, $6, $9 from users u
      where u.id = $5 and u.password_hash = $8 and u.disabled_at is null
        and (select count(*) from (${RECENT_FAILURES}) recent) < ${FAILURES_MAX} ${waiting}
      returning id`,
    [
      session.id,
      account,
      address,
      windowStart(at),
      session.userId,
      at.toISOString(),
      session.expiresAt.toISOString(),
      session.passwordHash,
      session.address,
    ],
  );
  if (rows.length === 0) return false;
  // After the insert has committed: of several sign-ins at once, the last one sees all of them.
  await endOldestSessions(database, session.userId, session.perUser, at);
  return true;
}

export interface SessionUser {
  id: number;
  merchant_id: number | null;
  role: string;
  disabled_at: string | null;
  session: SessionState | undefined;
}

export interface SessionState {
  id: string;
  expires_at: string;
  last_used_at: string;
  address: string | null;
  /** The generation of its refresh token, and when that one replaced the one before. */
  generation: number;
  rotated_at: string | null;
}

/** A server of an older version opens sessions without the time of their last use. */
const LAST_USED = 'coalesce(last_used_at, created_at)';

/** The user, with the session if it has not ended. */
export async function findSessionUser(
  queries: Queries,
  userId: number,
  sessionId: string,
): Promise<SessionUser | undefined> {
  const row = await queries.one<
    Omit<SessionUser, 'session'> & Omit<SessionState, 'id'> & { session_id: string | null }
  >(
    `select u.id, u.merchant_id, u.role, u.disabled_at, s.id as session_id, s.expires_at,
        coalesce(s.last_used_at, s.created_at) as last_used_at, s.address, s.generation, s.rotated_at
      from users u left join sessions s on s.id = $2 and s.user_id = u.id and s.revoked_at is null
      where u.id = $1`,
    [userId, sessionId],
  );
  return row && { ...row, session: row.session_id === null ? undefined : { ...row, id: row.session_id } };
}

export async function noteUse(queries: Queries, sessionId: string, address: string, at: Date): Promise<void> {
  await queries.run(
    'update sessions set last_used_at = $2, address = $3 where id = $1 and revoked_at is null',
    [sessionId, at.toISOString(), address],
  );
}

/** Moves to the next generation. False if another request was faster, or if the session has ended. */
export async function rotateSession(
  queries: Queries,
  { id, generation }: SessionState,
  address: string,
  at: Date,
): Promise<boolean> {
  const rows = await queries.run(
    `update sessions set generation = generation + 1, rotated_at = $3, last_used_at = $3, address = $4
      where id = $1 and generation = $2 and revoked_at is null returning id`,
    [id, generation, at.toISOString(), address],
  );
  return rows.length > 0;
}

/** The sessions that can still be used, last used first. */
export function listSessions(
  queries: Queries,
  userId: number,
  { at, usedAfter }: { at: Date; usedAfter: Date },
): Promise<Omit<Sessions[number], 'current'>[]> {
  return queries.all(
    `select id, created_at, ${LAST_USED} as last_used_at, address from sessions
      where user_id = $1 and revoked_at is null and expires_at > $2 and ${LAST_USED} > $3
      order by ${LAST_USED} desc, created_at desc, id`,
    [userId, at.toISOString(), usedAfter.toISOString()],
  );
}

/** Ends the user's sessions except the `kept` that were used last. */
async function endOldestSessions(database: Database, userId: number, kept: number, at: Date): Promise<void> {
  const rows = await database.run(
    // SQLite requires a limit with an offset.
    `update sessions set revoked_at = $2 where revoked_at is null and id in (
      select id from sessions where user_id = $1 and revoked_at is null and expires_at > $2
        order by ${LAST_USED} desc, created_at desc, id limit 100000 offset $3
    ) returning id`,
    [userId, at.toISOString(), kept],
  );
  if (rows.length > 0) database.signal(REVOCATIONS);
}

/** A trigger notes every session that ends, and every process then refuses its access tokens. */
export async function endSession(
  database: Database,
  userId: number,
  sessionId: string,
  at: Date,
): Promise<boolean> {
  const rows = await database.run(
    'update sessions set revoked_at = $3 where id = $2 and user_id = $1 and revoked_at is null returning id',
    [userId, sessionId, at.toISOString()],
  );
  if (rows.length > 0) database.signal(REVOCATIONS);
  return rows.length > 0;
}

async function endSessionsOf(queries: Queries, userId: number, at: Date): Promise<void> {
  await queries.run('update sessions set revoked_at = $2 where user_id = $1 and revoked_at is null', [
    userId,
    at.toISOString(),
  ]);
}

export const createUserLookup = (queries: Queries) =>
  createLookup<User & { disabled_at: string | null }>(
    queries,
    'select id, email, name, role, created_at, disabled_at from users',
    'id',
  );

export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Returns the new id, or undefined if the address is taken. */
export async function insertUser(
  queries: Queries,
  user: {
    merchantId: number | null;
    email: string;
    name: string;
    role: Role;
    passwordHash: string;
    at: Date;
  },
): Promise<number | undefined> {
  const [row] = await queries.run<{ id: number }>(
    `insert into users (merchant_id, email, email_key, name, role, password_hash, created_at)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict (email_key) do nothing returning id`,
    [
      user.merchantId,
      user.email,
      emailKeyOf(user.email),
      user.name,
      user.role,
      user.passwordHash,
      user.at.toISOString(),
    ],
  );
  return row?.id;
}

export interface ListedUser extends User {
  merchant_id: number | null;
  disabled_at: string | null;
}

const LISTED = 'select id, merchant_id, email, name, role, created_at, disabled_at from users';

/** All users, or those of one merchant. */
export function listUsers(queries: Queries, merchantId: number | undefined): Promise<ListedUser[]> {
  return merchantId === undefined
    ? queries.all(`${LISTED} order by id`)
    : queries.all(`${LISTED} where merchant_id = $1 order by id`, [merchantId]);
}

export function findUserByEmail(queries: Queries, email: string): Promise<ListedUser | undefined> {
  return queries.one(`${LISTED} where email_key = $1`, [emailKeyOf(email)]);
}

/** Ends all sessions of the user and resets the failed attempts, so the new password works immediately. */
export async function changePassword(
  database: Database,
  userId: number,
  passwordHash: string,
  at: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<{ email: string }>(
      'update users set password_hash = $2 where id = $1 returning email',
      [userId, passwordHash],
    );
    if (!user) return;
    await endSessionsOf(tx, userId, at);
    await tx.run('delete from sign_in_failures where account = $1', [attemptOf(user.email, '', at).account]);
  });
  database.signal(REVOCATIONS);
}

/** Ends all sessions of the user. */
export async function disableUser(database: Database, userId: number, at: Date): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.run('update users set disabled_at = coalesce(disabled_at, $2) where id = $1', [
      userId,
      at.toISOString(),
    ]);
    await endSessionsOf(tx, userId, at);
  });
  database.signal(REVOCATIONS);
}

export async function enableUser(queries: Queries, userId: number): Promise<void> {
  await queries.run('update users set disabled_at = null where id = $1', [userId]);
}

/** The last access token of a session may live this much longer than the session. */
const ACCESS_TTL_MAX_MS = 86_400_000;

export const EXPIRING_SIGN_INS: readonly Expiring[] = [
  { table: 'sessions', column: 'expires_at', keptMs: ACCESS_TTL_MAX_MS },
  { table: 'sign_in_failures', column: 'failed_at', keptMs: FAILURE_WINDOW_MS },
];
