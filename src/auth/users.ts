import { recordEvent, type Who } from '../audit/record.ts';
import type { EventName } from '../contract/auditEvents.ts';
import type { User } from '../contract/auth.ts';
import {
  type Database,
  type Param,
  type Queries,
  REVOCATIONS,
  type Transaction,
} from '../database/database.ts';
import { createLookup } from '../database/lookup.ts';
import { forgetAttempts } from './attempts.ts';
import { emailKeyOf } from './email.ts';
import { endSessionsOf, isOpenSession } from './sessions/store.ts';

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
    ? queries.all(`${LISTED} where deleted_at is null order by id`)
    : queries.all(`${LISTED} where merchant_id = $1 and deleted_at is null order by id`, [merchantId]);
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

/** An operator sets a new password. All sessions of the user end. */
export async function setPassword(
  database: Database,
  userId: number,
  passwordHash: string,
  at: Date,
  by: Who,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(`update users set password_hash = $2 where id = $1 ${CHANGED}`, [
      userId,
      passwordHash,
    ]);
    if (user) await afterNewPassword(tx, user, { at, by });
  });
  database.signal(REVOCATIONS);
}

interface OwnPasswordChange {
  userId: number;
  /** Absent if the access token is from before an upgrade. */
  sessionId: string | undefined;
  place: string;
  formerHash: string;
  passwordHash: string;
  at: Date;
  by: Who;
}

/**
 * A user changes their own password, and stays signed in in this session and known at this place. Returns false, without
 * a change, if the password was changed or the session has ended since they were checked: an operator's new password
 * must not be overwritten.
 */
export async function changeOwnPassword(database: Database, change: OwnPasswordChange): Promise<boolean> {
  const { userId, sessionId, formerHash, passwordHash } = change;
  const changed = await database.transaction(async (tx) => {
    if (sessionId !== undefined && !(await isOpenSession(tx, sessionId))) return false;
    const [user] = await tx.run<ChangedUser>(
      `update users set password_hash = $2 where id = $1 and password_hash = $3 and disabled_at is null ${CHANGED}`,
      [userId, passwordHash, formerHash],
    );
    if (user) await afterNewPassword(tx, user, change);
    return user !== undefined;
  });
  if (changed) database.signal(REVOCATIONS);
  return changed;
}

/**
 * Ends the sessions and forgets the places, except one, and all failed attempts: the new password works at once. Links for
 * another one no longer work.
 */
export async function afterNewPassword(
  tx: Transaction,
  user: ChangedUser,
  { sessionId, place, at, by }: { sessionId?: string | undefined; place?: string; at: Date; by: Who },
): Promise<void> {
  await endSessionsOf(tx, user.id, at, sessionId);
  await tx.run('delete from password_resets where user_id = $1', [user.id]);
  await forgetAttempts(tx, user, place);
  await recordChange(tx, 'user.password_changed', user, by, at);
}

/** Changes a user and ends all sessions, whose tokens would show the old state. Does nothing if `update` finds no row. */
async function changeAndSignOut(
  database: Database,
  update: { sql: string; params: readonly Param[] },
  event: { what: EventName; by: Who; at: Date; role?: Role },
): Promise<void> {
  const { what, by, at, role } = event;
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(`${update.sql} ${CHANGED}`, update.params);
    if (!user) return;
    await recordChange(tx, what, user, by, at, role === undefined ? {} : { role });
    await endSessionsOf(tx, user.id, at);
  });
  database.signal(REVOCATIONS);
}

export const disableUser = (database: Database, userId: number, at: Date, by: Who): Promise<void> =>
  changeAndSignOut(
    database,
    {
      sql: 'update users set disabled_at = $2 where id = $1 and disabled_at is null',
      params: [userId, at.toISOString()],
    },
    { what: 'user.disabled', by, at },
  );

export const changeRole = (
  database: Database,
  userId: number,
  role: Role,
  at: Date,
  by: Who,
): Promise<void> =>
  changeAndSignOut(
    database,
    { sql: 'update users set role = $2 where id = $1 and role <> $2', params: [userId, role] },
    { what: 'user.role_changed', by, at, role },
  );

export async function enableUser(database: Database, userId: number, at: Date, by: Who): Promise<void> {
  await database.transaction(async (tx) => {
    const [user] = await tx.run<ChangedUser>(
      `update users set disabled_at = null where id = $1 and disabled_at is not null ${CHANGED}`,
      [userId],
    );
    if (user) await recordChange(tx, 'user.enabled', user, by, at);
  });
}
