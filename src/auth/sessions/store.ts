import { recordEvent, SERVER } from '../../audit/record.ts';
import type { Sessions } from '../../contract/auth.ts';
import {
  type Database,
  type Param,
  type Queries,
  REVOCATIONS,
  type Transaction,
} from '../../database/database.ts';
import { type Attempt, createParams, withinLimits } from '../attempts.ts';

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
    device: string | null;
  },
  attempt: Attempt,
  signInKind: { isKnown: boolean; isPasskey: boolean },
): Promise<boolean> {
  // SQLite runs one write at a time. PostgreSQL waits here for a change that is not committed yet.
  const waiting = queries.engine === 'postgres' ? 'for share of u' : '';
  const { params, bind } = createParams();
  const at = bind(attempt.at.toISOString());
  const rows = await queries.run(
    `insert into sessions (id, user_id, created_at, expires_at, last_used_at, address, device)
      select ${bind(session.id)}, u.id, ${at}, ${bind(session.expiresAt.toISOString())}, ${at}, ${bind(session.address)},
        ${bind(session.device)}
      from users u
      where u.id = ${bind(session.userId)} and u.password_hash = ${bind(session.passwordHash)}
        and u.disabled_at is null and coalesce(u.second_factor_at, '') = ${bind(session.secondFactorAt ?? '')}
        and ${withinLimits(attempt, signInKind, bind)} ${waiting}
      returning id`,
    params,
  );
  return rows.length > 0;
}

/** Not as a part of a statement that changes a user: on a cluster, users are on every node, and sessions are not. */
export const isOpenSession = async (queries: Queries, id: string): Promise<boolean> =>
  (await queries.one('select id from sessions where id = $1 and revoked_at is null', [id])) !== undefined;

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
  /** The generation of its refresh token, the last one that a client has used, and when the current one was made. */
  generation: number;
  used_generation: number;
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
        coalesce(s.last_used_at, s.created_at) as last_used_at, s.address, s.generation,
        s.used_generation, s.rotated_at
      from users u left join sessions s on s.id = $2 and s.user_id = u.id and s.revoked_at is null
      where u.id = $1`,
    [userId, sessionId],
  );
  return row && { ...row, session: row.session_id === null ? undefined : { ...row, id: row.session_id } };
}

export async function noteUse(
  queries: Queries,
  sessionId: string,
  usedGeneration: number,
  address: string,
  at: Date,
): Promise<void> {
  await queries.run(
    `update sessions set last_used_at = $2, address = $3, used_generation = $4
      where id = $1 and revoked_at is null`,
    [sessionId, at.toISOString(), address, usedGeneration],
  );
}

/** Moves from a token of generation `used` to the next generation. False if another request was faster, or if the session has ended. */
export async function rotateSession(
  queries: Queries,
  { id, generation }: SessionState,
  used: number,
  address: string,
  at: Date,
): Promise<boolean> {
  const rows = await queries.run(
    `update sessions set generation = generation + 1, used_generation = $5, rotated_at = $3, last_used_at = $3,
        address = $4
      where id = $1 and generation = $2 and revoked_at is null returning id`,
    [id, generation, at.toISOString(), address, used],
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
    `select id, created_at, ${LAST_USED} as last_used_at, address, device from sessions
      where user_id = $1 and revoked_at is null and expires_at > $2 and ${LAST_USED} > $3
      order by ${LAST_USED} desc, created_at desc, id`,
    [userId, at.toISOString(), usedAfter.toISOString()],
  );
}

/** Ends the user's sessions except the `kept` that were used last. In parts: there may be very many. */
export async function endOldestSessions(
  database: Database,
  user: { id: number; merchant_id: number | null },
  kept: number,
  at: Date,
): Promise<void> {
  const isAbove = await database.one(
    'select id from sessions where user_id = $1 and revoked_at is null and expires_at > $2 limit 1 offset $3',
    [user.id, at.toISOString(), kept],
  );
  if (!isAbove) return;
  const endSome = (isFirst: boolean) =>
    database.transaction(async (tx) => {
      const rows = await tx.run<Ended>(
        `update sessions set revoked_at = $2 where revoked_at is null and id in (
          select id from sessions where user_id = $1 and revoked_at is null and expires_at > $2
            order by ${LAST_USED} desc, created_at desc, id limit ${ENDED_AT_ONCE} offset $3
        ) returning id, user_id`,
        [user.id, at.toISOString(), kept],
      );
      await revoke(tx, rows, at);
      const event = { what: 'session.ended', merchantId: user.merchant_id, who: SERVER, at } as const;
      if (isFirst && rows.length > 0) await recordEvent(tx, { ...event, about: { user_id: user.id } });
      return rows.length;
    });
  for (let isFirst = true; (await endSome(isFirst)) === ENDED_AT_ONCE; isFirst = false);
  database.signal(REVOCATIONS);
}

const ENDED_AT_ONCE = 1000;

interface Ended {
  id: string;
  user_id: number;
}

/** Every process then refuses the access tokens of these sessions. A statement cannot have any number of parameters. */
async function revoke(tx: Transaction, ended: readonly Ended[], at: Date): Promise<void> {
  for (let from = 0; from < ended.length; from += ENDED_AT_ONCE) {
    const params: Param[] = [at.toISOString()];
    const rows = ended.slice(from, from + ENDED_AT_ONCE).map(({ id, user_id }) => {
      const last = params.push(id, user_id);
      return `($${last - 1}, $${last}, $1)`;
    });
    await tx.run(`insert into revocations (session_id, user_id, revoked_at) values ${rows}`, params);
  }
}

export async function endSession(
  tx: Transaction,
  userId: number,
  sessionId: string,
  at: Date,
): Promise<boolean> {
  const rows = await tx.run<Ended>(
    `update sessions set revoked_at = $3 where id = $2 and user_id = $1 and revoked_at is null
      returning id, user_id`,
    [userId, sessionId, at.toISOString()],
  );
  await revoke(tx, rows, at);
  return rows.length > 0;
}

/** Ends the sessions of a user, except this one. Returns how many. */
export async function endSessionsOf(
  tx: Transaction,
  userId: number,
  at: Date,
  exceptId = '',
): Promise<number> {
  const rows = await tx.run<Ended>(
    `update sessions set revoked_at = $2 where user_id = $1 and revoked_at is null and id <> $3
      returning id, user_id`,
    [userId, at.toISOString(), exceptId],
  );
  await revoke(tx, rows, at);
  return rows.length;
}

/** Everybody has to sign in again. Returns how many sessions it ended. */
export async function endAllSessions(database: Database, at: Date): Promise<number> {
  for (let ended = 0; ; ) {
    const count = await database.transaction(async (tx) => {
      const rows = await tx.run<Ended>(
        `update sessions set revoked_at = $1 where revoked_at is null and id in (
          select id from sessions where revoked_at is null order by id limit ${ENDED_AT_ONCE}
        ) returning id, user_id`,
        [at.toISOString()],
      );
      await revoke(tx, rows, at);
      return rows.length;
    });
    ended += count;
    if (count < ENDED_AT_ONCE) return ended;
  }
}
