import { createHash } from 'node:crypto';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import type { EventName } from '../contract/audit.ts';
import type { Sessions, User } from '../contract/auth.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';
import { createLookup } from '../database/lookup.ts';
import { addressGroup } from '../http/address.ts';
import type { Vault } from '../secrets.ts';

export interface Account {
  id: number;
  merchant_id: number | null;
  role: string;
  password_hash: string;
  disabled_at: string | null;
  /** Null if the password alone is enough. */
  second_factor_at: string | null;
}

/** An attempt to sign in. Attempts for unknown accounts are counted in the same way. */
export interface Attempt {
  emailKey: string;
  account: string;
  address: string;
  addressGroup: string;
  /** Account and address group together, as a keyed hash. */
  place: string;
  at: Date;
}

export function attemptOf(email: string, address: string, at: Date, vault: Vault): Attempt {
  const emailKey = emailKeyOf(email);
  const account = accountOf(emailKey);
  const group = addressGroup(address);
  const place = vault.fingerprint(`${account} ${group}`, 'sign-in place');
  return { emailKey, account, address, addressGroup: group, place, at };
}

const accountOf = (emailKey: string) => createHash('sha256').update(emailKey).digest('base64url');

/** How email addresses are compared. NUL is replaced, because no text column can hold it. */
export function emailKeyOf(email: string): string {
  return email.trim().toWellFormed().replaceAll('\0', '\ufffd').normalize('NFC').toLowerCase();
}

const MINUTE_MS = 60_000;

/** Failed sign-ins for one account from one address group. */
export const FAILURES_MAX = 10;
/** From one address group for all accounts: an office with many people has one address. */
export const ADDRESS_FAILURES_MAX = 100;
/** For one account from all address groups: 2,400 guesses a day, no matter how many addresses an attacker has. */
export const ACCOUNT_FAILURES_MAX = 100;

/**
 * Limits for failed sign-ins. Others can use up the last two, so they do not apply where somebody has signed in to the
 * account before. $2 is the account and $3 the address group; $4, $5 and $6 are the starts of the windows.
 */
const LIMITS = [
  {
    failures: 'account = $2 and address = $3 and failed_at > $4',
    max: FAILURES_MAX,
    windowMs: 15 * MINUTE_MS,
    appliesToKnown: true,
  },
  {
    failures: 'address = $3 and failed_at > $5',
    max: ADDRESS_FAILURES_MAX,
    windowMs: 15 * MINUTE_MS,
    appliesToKnown: false,
  },
  {
    failures: 'account = $2 and failed_at > $6',
    max: ACCOUNT_FAILURES_MAX,
    windowMs: 60 * MINUTE_MS,
    appliesToKnown: false,
  },
] as const;

const FAILURES_KEPT_MS = Math.max(...LIMITS.map(({ windowMs }) => windowMs));

const latest = ({ failures, max }: (typeof LIMITS)[number]) =>
  `(select failed_at from sign_in_failures where ${failures} order by failed_at desc limit ${max}) latest`;
const WITHIN_LIMITS = LIMITS.map((limit) => `(select count(*) from ${latest(limit)}) < ${limit.max}`).join(
  ' and ',
);
/** `full_since_0` and so on: the oldest failure that counts if the limit is reached, otherwise null. */
const FULL_SINCE = LIMITS.map(
  (limit, n) =>
    `(select case when count(*) = ${limit.max} then min(failed_at) end from ${latest(limit)}) as full_since_${n}`,
).join(', ');

/** A window that has not begun yet is empty, so its limit is never reached. */
const NOT_BEGUN = '9999';
const windowStarts = (at: Date, isKnown: boolean, isPasskey = false): string[] =>
  LIMITS.map(({ windowMs, appliesToKnown }) =>
    isPasskey || (isKnown && !appliesToKnown) ? NOT_BEGUN : new Date(at.getTime() - windowMs).toISOString(),
  );

type AccountRow = (Account | { id: null }) & {
  last_at: string | null;
  [fullSince: `full_since_${number}`]: string | null;
};

/**
 * The account, if there is one, how long to wait if there were too many attempts, and when somebody last signed in to
 * this account from this place.
 */
export async function findAccount(
  queries: Queries,
  { emailKey, account, addressGroup, place, at }: Attempt,
): Promise<{ account: Account | undefined; retryAfterSeconds: number; lastAtPlace: string | null }> {
  const row = await queries.one<AccountRow>(
    `select u.id, u.merchant_id, u.role, u.password_hash, u.disabled_at, u.second_factor_at, p.last_at, ${FULL_SINCE}
      from (select 1 as one) always
      left join users u on u.email_key = $1
      left join sign_in_places p on p.user_id = u.id and p.place = $7`,
    [emailKey, account, addressGroup, ...windowStarts(at, false), place],
  );
  if (!row) throw new Error('a left join always returns a row');
  const waitsMs = LIMITS.map(({ windowMs, appliesToKnown }, n) => {
    const since = row[`full_since_${n}`];
    const isExempt = row.last_at !== null && !appliesToKnown;
    return since == null || isExempt ? 0 : Date.parse(since) + windowMs - at.getTime();
  });
  return {
    account: row.id === null ? undefined : row,
    retryAfterSeconds: Math.max(0, Math.ceil(Math.max(...waitsMs) / 1000)),
    lastAtPlace: row.last_at,
  };
}

/** Returns false if other attempts reached a limit while the password was checked. */
export async function recordFailure(
  queries: Queries,
  { account, addressGroup, at }: Attempt,
  isKnown: boolean,
): Promise<boolean> {
  const rows = await queries.run(
    `insert into sign_in_failures (failed_at, account, address)
      select $1, $2, $3 where ${WITHIN_LIMITS} returning account`,
    [at.toISOString(), account, addressGroup, ...windowStarts(at, isKnown)],
  );
  return rows.length > 0;
}

/**
 * Opens the session, unless other attempts reached a limit or the account was changed while the password was
 * checked: a change ends all sessions of the account, and this one must not survive it.
 */
export async function openSession(
  queries: Queries,
  session: {
    id: string;
    userId: number;
    passwordHash: string;
    secondFactorAt: string | null;
    expiresAt: Date;
    address: string;
  },
  { account, addressGroup, at }: Attempt,
  { isKnown, isPasskey }: { isKnown: boolean; isPasskey: boolean },
): Promise<boolean> {
  // SQLite runs one write at a time. PostgreSQL waits here for a change that is not committed yet.
  const waiting = queries.engine === 'postgres' ? 'for share of u' : '';
  const rows = await queries.run(
    `insert into sessions (id, user_id, created_at, expires_at, last_used_at, address)
      select $1, u.id, $8, $9, $8, $12 from users u
      where u.id = $7 and u.password_hash = $10 and u.disabled_at is null and coalesce(u.second_factor_at, '') = $11
        and ${WITHIN_LIMITS} ${waiting}
      returning id`,
    [
      session.id,
      account,
      addressGroup,
      // A passkey cannot be guessed, so wrong passwords do not lock it out.
      ...windowStarts(at, isKnown, isPasskey),
      session.userId,
      at.toISOString(),
      session.expiresAt.toISOString(),
      session.passwordHash,
      session.secondFactorAt ?? '',
      session.address,
    ],
  );
  return rows.length > 0;
}

/** Places remembered per user, and how long. */
const PLACES_MAX = 20;
const PLACE_KEPT_MS = 180 * 86_400_000;
const PLACE_RENEWED_MS = 86_400_000;

/** Remembers from where the user has signed in: at most once a day for a place, because it is a write. */
export async function rememberPlace(
  queries: Queries,
  userId: number,
  { place, at }: Attempt,
  lastAtPlace: string | null,
): Promise<void> {
  if (lastAtPlace !== null && at.getTime() - Date.parse(lastAtPlace) < PLACE_RENEWED_MS) return;
  await queries.run(
    `insert into sign_in_places (user_id, place, last_at) values ($1, $2, $3)
      on conflict (user_id, place) do update set last_at = excluded.last_at`,
    [userId, place, at.toISOString()],
  );
  if (lastAtPlace !== null) return;
  await queries.run(
    `delete from sign_in_places where user_id = $1 and place in (
      select place from sign_in_places where user_id = $1 order by last_at desc limit 1000 offset ${PLACES_MAX})`,
    [userId],
  );
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
export async function endOldestSessions(
  database: Database,
  userId: number,
  kept: number,
  at: Date,
): Promise<void> {
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
  queries: Queries,
  userId: number,
  sessionId: string,
  at: Date,
): Promise<boolean> {
  const rows = await queries.run(
    'update sessions set revoked_at = $3 where id = $2 and user_id = $1 and revoked_at is null returning id',
    [userId, sessionId, at.toISOString()],
  );
  return rows.length > 0;
}

/** Ends the sessions of a user, except this one. */
export async function endSessionsOf(
  queries: Queries,
  userId: number,
  at: Date,
  exceptId = '',
): Promise<void> {
  await queries.run(
    'update sessions set revoked_at = $2 where user_id = $1 and revoked_at is null and id <> $3',
    [userId, at.toISOString(), exceptId],
  );
}

export const createUserLookup = (queries: Queries) =>
  createLookup<User & { disabled_at: string | null }>(
    queries,
    'select id, email, name, role, created_at, disabled_at from users',
    'id',
  );

/** An owner manages the merchant, a user works for it. Both answer its customers. An admin is an operator. */
export const ROLES = ['owner', 'user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Returns the new id, or undefined if the address is taken. */
export async function insertUser(
  tx: Transaction,
  user: {
    merchantId: number | null;
    email: string;
    name: string;
    role: Role;
    passwordHash: string;
    at: Date;
  },
  by: Who,
): Promise<number | undefined> {
  const [row] = await tx.run<{ id: number }>(
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
  if (!row) return undefined;
  const about = { user_id: row.id, role: user.role };
  await recordEvent(tx, { what: 'user.added', merchantId: user.merchantId, who: by, at: user.at, about });
  return row.id;
}

export async function hasUsers(queries: Queries): Promise<boolean> {
  return (await queries.one('select 1 as one from users limit 1')) !== undefined;
}

export interface ListedUser extends User {
  merchant_id: number | null;
  disabled_at: string | null;
  /** Null if the password alone is enough to sign in. */
  second_factor_at: string | null;
}

const LISTED =
  'select id, merchant_id, email, name, role, created_at, disabled_at, second_factor_at from users';

/** All users, or those of one merchant. */
export function listUsers(queries: Queries, merchantId: number | undefined): Promise<ListedUser[]> {
  return merchantId === undefined
    ? queries.all(`${LISTED} order by id`)
    : queries.all(`${LISTED} where merchant_id = $1 order by id`, [merchantId]);
}

export function findUserByEmail(queries: Queries, email: string): Promise<ListedUser | undefined> {
  return queries.one(`${LISTED} where email_key = $1`, [emailKeyOf(email)]);
}

interface ChangedUser {
  id: number;
  merchant_id: number | null;
  email: string;
}
const CHANGED = 'returning id, merchant_id, email';

const recordChange = (
  tx: Transaction,
  what: EventName,
  { id, merchant_id }: ChangedUser,
  who: Who,
  at: Date,
  more: { role?: Role } = {},
) => recordEvent(tx, { what, merchantId: merchant_id, who, at, about: { user_id: id, ...more } });

/**
 * A user changes the own password. If it was changed or the session has ended since it was checked, nothing changes: an
 * operator's new password must not be overwritten. This session and this place stay.
 */
interface OwnChange {
  formerHash: string;
  sessionId: string | undefined;
  place: string;
}

export const isOpenSession = (id: string) =>
  `exists (select 1 from sessions s where s.id = ${id} and s.revoked_at is null)`;

/** Ends the user's sessions, except one, and forgets the places and failed attempts: the new password works at once. */
export async function changePassword(
  database: Database,
  userId: number,
  passwordHash: string,
  at: Date,
  by: Who = SERVER,
  own?: OwnChange,
): Promise<boolean> {
  const changed = await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(
      `update users set password_hash = $2 where id = $1
        and ($3 = '' or (password_hash = $3 and disabled_at is null)) and ($4 = '' or ${isOpenSession('$4')}) ${CHANGED}`,
      [userId, passwordHash, own?.formerHash ?? '', own?.sessionId ?? ''],
    );
    if (!user) return false;
    await endSessionsOf(tx, userId, at, own?.sessionId);
    await tx.run('delete from sign_in_failures where account = $1', [accountOf(emailKeyOf(user.email))]);
    await tx.run('delete from sign_in_places where user_id = $1 and place <> $2', [userId, own?.place ?? '']);
    await recordChange(tx, 'user.password_changed', user, by, at);
    return true;
  });
  if (changed) database.signal(REVOCATIONS);
  return changed;
}

/** Ends all sessions of the user. */
export async function disableUser(
  database: Database,
  userId: number,
  at: Date,
  by: Who = SERVER,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(
      `update users set disabled_at = $2 where id = $1 and disabled_at is null ${CHANGED}`,
      [userId, at.toISOString()],
    );
    if (user) await recordChange(tx, 'user.disabled', user, by, at);
    await endSessionsOf(tx, userId, at);
  });
  database.signal(REVOCATIONS);
}

/** Ends all sessions of the user: their tokens contain the old role. */
export async function changeRole(
  database: Database,
  userId: number,
  role: Role,
  at: Date,
  by: Who = SERVER,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(
      `update users set role = $2 where id = $1 and role <> $2 ${CHANGED}`,
      [userId, role],
    );
    if (!user) return;
    await recordChange(tx, 'user.role_changed', user, by, at, { role });
    await endSessionsOf(tx, userId, at);
  });
  database.signal(REVOCATIONS);
}

export async function enableUser(
  database: Database,
  userId: number,
  at: Date,
  by: Who = SERVER,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(
      `update users set disabled_at = null where id = $1 and disabled_at is not null ${CHANGED}`,
      [userId],
    );
    if (user) await recordChange(tx, 'user.enabled', user, by, at);
  });
}

/** The last access token of a session may live this much longer than the session. */
const ACCESS_TTL_MAX_MS = 86_400_000;

export const EXPIRING_SIGN_INS: readonly Expiring[] = [
  { table: 'sessions', column: 'expires_at', keptMs: ACCESS_TTL_MAX_MS },
  { table: 'sign_in_failures', column: 'failed_at', keptMs: FAILURES_KEPT_MS },
  { table: 'sign_in_places', column: 'last_at', keptMs: PLACE_KEPT_MS },
];
