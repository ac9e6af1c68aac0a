import type { Database } from '../database/database.ts';
import { findKeyExpiry } from './machineKeys/store.ts';
import { findSessionUser } from './sessions/store.ts';
import type { Caller } from './tokens.ts';

/**
 * For responses that outlive a token: returns when to check again, or undefined if the session or key has ended. What is
 * revoked in between is reported by `WatchRevoked`.
 */
export type Recheck = (caller: Caller) => Promise<Date | undefined>;

interface RecheckParts {
  database: Database;
  accessTtlSeconds: number;
  sessionIdleDays: number;
  now: () => Date;
}

const DAY_MS = 24 * 60 * 60_000;

export function createRecheck({ database, accessTtlSeconds, sessionIdleDays, now }: RecheckParts): Recheck {
  return async (caller) => {
    const endsAtMs =
      caller.kind === 'user'
        ? await sessionEndMs(database, caller, sessionIdleDays)
        : await findKeyExpiry(database, caller.merchantId, caller.machineKeyId);
    const nowMs = now().getTime();
    if (endsAtMs === undefined || endsAtMs <= nowMs) return undefined;
    return new Date(Math.min(endsAtMs, nowMs + accessTtlSeconds * 1000));
  };
}

async function sessionEndMs(
  database: Database,
  { userId, sessionId }: Extract<Caller, { kind: 'user' }>,
  sessionIdleDays: number,
): Promise<number | undefined> {
  // A token from before an upgrade names no session.
  if (sessionId === undefined) return undefined;
  const user = await findSessionUser(database, userId, sessionId);
  if (!user?.session || user.disabled_at !== null) return undefined;
  const { expires_at, last_used_at } = user.session;
  return Math.min(Date.parse(expires_at), Date.parse(last_used_at) + sessionIdleDays * DAY_MS);
}
