import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { EventName } from '../../contract/auditEvents.ts';
import type { Sessions as ListedSessions, RefreshedTokens } from '../../contract/auth.ts';
import { type Database, REVOCATIONS } from '../../database/database.ts';
import { sessionNotFound, tokenExpired, tokenInvalid, userNotFound } from '../../errors.ts';
import { addressGroup, shortAddress } from '../../http/address.ts';
import { createFairSlots } from '../../http/limits/fairSlots.ts';
import { recordFor } from '../events.ts';
import type { Person, Tokens } from '../tokens.ts';
import type { Revocations } from './revocations.ts';
import {
  endSession,
  endSessionsOf,
  findSessionUser,
  listSessions,
  noteUse,
  rotateSession,
  type SessionState,
  type SessionUser,
} from './store.ts';

interface SessionParts {
  database: Database;
  tokens: Tokens;
  revocations: Revocations;
  accessTtlSeconds: number;
  sessionIdleDays: number;
  now: () => Date;
}

/** Refreshes that use the database at the same time. The others wait, with a turn for each address. */
const REFRESHES_AT_ONCE = 4;
const REFRESHES_WAITING_MAX = 1000;
/** Whoever repeats a token of an ended session is written down once in this time. */
const REFUSED_AGAIN_MS = 60_000;
const REFUSED_MAX = 10_000;

/** What happens to a session after it was opened. Programs hold its refresh token, the dashboard has it in a cookie. */
export interface Sessions {
  /** Returns a new access token, and with `rotate` a refresh token that replaces the given one. */
  renew(refreshToken: string, address: string, options: RenewOptions): Promise<RefreshedTokens>;
  /** Ends the session of a refresh token. */
  end(refreshToken: string, address: string): Promise<void>;
  /** The sessions of the caller's user. */
  list(caller: Person): Promise<ListedSessions>;
  /** Ends one of these sessions. */
  endById(caller: Person, sessionId: string, address: string): Promise<void>;
  /** Ends all of them except the caller's own. Returns how many. */
  endOthers(caller: Person, address: string): Promise<number>;
}

interface RenewOptions {
  rotate: boolean;
  /**
   * A browser may lose the connection before it gets the response, and its tabs refresh at the same time. So a replaced
   * token still works until its successor was used.
   */
  byBrowser: boolean;
}

const DAY_MS = 86_400_000;
/** The last use is written at most this often, so that most refreshes write nothing. */
const NOTE_USE_EVERY_MS = 5 * 60_000;
/**
 * For this long after a rotation, all tabs of a browser get the current token. They share its address; a thief elsewhere
 * does not. Nothing rotates twice within this time, so the token of a slow request is never more than one generation old.
 */
const SAME_FOR_ALL_TABS_MS = 30_000;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export function createSessions(parts: SessionParts): Sessions {
  const { database, tokens, revocations, accessTtlSeconds, sessionIdleDays, now } = parts;

  const idleSince = () => new Date(now().getTime() - sessionIdleDays * DAY_MS);
  const withSlot = createFairSlots(REFRESHES_AT_ONCE, REFRESHES_WAITING_MAX);
  const refused = new LRUCache<string, true>({ max: REFUSED_MAX, ttl: REFUSED_AGAIN_MS });
  const age = (time: string | null) => (time === null ? Infinity : now().getTime() - Date.parse(time));

  /** The user and the session of a valid refresh token whose session has not ended. */
  async function find(refreshToken: string, address: string) {
    const { userId, tokenId, generation, isDashboard } = await tokens.verify('refresh', refreshToken);
    const user = await findSessionUser(database, userId, tokenId);
    if (!user) throw userNotFound();
    const { session } = user;
    if (!session || user.disabled_at !== null) {
      const key = `${tokenId} ${shortAddress(address)}`;
      if (!refused.has(key)) {
        refused.set(key, true);
        await recordFor(database, 'session.refused', user, address, now());
      }
      throw tokenInvalid();
    }
    if (Date.parse(session.last_used_at) < idleSince().getTime()) throw tokenExpired();
    return { user, session, generation, isDashboard };
  }

  async function endNow(
    user: { id: number; merchant_id: number | null },
    sessionId: string,
    what: EventName,
    address: string,
  ): Promise<boolean> {
    const ended = await database.transaction(async (tx) => {
      const hasEnded = await endSession(tx, user.id, sessionId, now());
      if (hasEnded) await recordFor(tx, what, user, address, now());
      return hasEnded;
    });
    if (ended) database.signal(REVOCATIONS);
    // The session has ended. If this fails, this process notices it half a second later.
    await revocations.read().catch(() => {});
    return ended;
  }

  async function signTokens(
    user: SessionUser,
    session: SessionState,
    rotated: number | undefined,
    isDashboard: boolean,
  ) {
    const subject = { userId: user.id, merchantId: user.merchant_id, role: user.role };
    const expiresAtSeconds = Math.floor(Date.parse(session.expires_at) / 1000);
    return Promise.all([
      tokens.sign('access', { ...subject, sessionId: session.id }, randomUUID()),
      rotated === undefined
        ? undefined
        : tokens.sign(
            'refresh',
            { ...subject, generation: rotated, isDashboard, expiresAtSeconds },
            session.id,
          ),
    ]);
  }

  /** A few at a time, and in each turn of the event loop, so that others get a connection and a turn. */
  const takingTurns = <T>(ip: string, work: () => Promise<T>): Promise<T> =>
    withSlot({ group: addressGroup(ip), isKnown: false }, async () => {
      await nextTurn();
      return work();
    });

  const renew: Sessions['renew'] = (refreshToken, ip, options) =>
    takingTurns(ip, () => renewNow(refreshToken, ip, options));

  async function renewNow(
    refreshToken: string,
    ip: string,
    { rotate, byBrowser }: RenewOptions,
  ): Promise<RefreshedTokens> {
    const { user, session, generation, isDashboard } = await find(refreshToken, ip);
    // There it could be used without being replaced.
    if (isDashboard && !byBrowser) throw tokenInvalid();
    const address = shortAddress(ip);
    const rotatedNow =
      byBrowser && age(session.rotated_at) < SAME_FOR_ALL_TABS_MS && session.address === address;
    const isCurrent = generation === session.generation;
    // If the successor is then used as well, it has become too old, and the session ends.
    const isUnanswered = byBrowser && generation === session.used_generation;
    if (!isCurrent && !isUnanswered && !(rotatedNow && generation === session.generation - 1)) {
      // Somebody has a copy of the token. Nobody knows who is who, so both must sign in again.
      await endNow(user, session.id, 'session.reused_token', ip);
      throw tokenInvalid();
    }

    const rotates = rotate && !rotatedNow;
    if (rotates) {
      const isFirst = await rotateSession(database, session, generation, address, now());
      // Another request has rotated the token or ended the session.
      if (!isFirst) return renewNow(refreshToken, ip, { rotate, byBrowser });
    } else if (
      age(session.last_used_at) > NOTE_USE_EVERY_MS ||
      session.address !== address ||
      generation > session.used_generation
    ) {
      // Only a note: a full disk must not sign anybody out.
      const used = Math.max(generation, session.used_generation);
      await noteUse(database, session.id, used, address, now()).catch(() => {});
    }

    const next = session.generation + (rotates ? 1 : 0);
    const [access_token, refresh_token] = await signTokens(
      user,
      session,
      rotate ? next : undefined,
      byBrowser,
    );
    return {
      access_token,
      ...(refresh_token === undefined ? {} : { refresh_token }),
      token_type: 'bearer',
      expires_in: accessTtlSeconds,
    };
  }

  return {
    renew,

    async end(refreshToken, address) {
      const { user, session } = await takingTurns(address, () => find(refreshToken, address));
      if (!(await endNow(user, session.id, 'session.ended', address))) throw tokenInvalid();
    },

    async list({ userId, sessionId }) {
      const sessions = await listSessions(database, userId, { at: now(), usedAfter: idleSince() });
      return sessions.map((session) => ({ ...session, current: session.id === sessionId }));
    },

    async endById({ userId, merchantId }, sessionId, address) {
      const user = { id: userId, merchant_id: merchantId ?? null };
      const ended = UUID.test(sessionId) && (await endNow(user, sessionId, 'session.ended', address));
      if (!ended) throw sessionNotFound();
    },

    async endOthers({ userId, merchantId, sessionId }, address) {
      const user = { id: userId, merchant_id: merchantId ?? null };
      const count = await database.transaction(async (tx) => {
        const ended = await endSessionsOf(tx, userId, now(), sessionId);
        if (ended > 0) await recordFor(tx, 'session.ended', user, address, now());
        return ended;
      });
      if (count > 0) database.signal(REVOCATIONS);
      await revocations.read().catch(() => {});
      return count;
    },
  };
}
