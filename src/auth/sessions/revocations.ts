import type { Logger } from 'pino';
import { type Database, REVOCATIONS } from '../../database/database.ts';
import { withoutDeadline } from '../../database/deadline.ts';
import type { Keyring } from '../keys.ts';
import { revocationOf } from '../machineKeys/store.ts';
import type { Caller } from '../tokens.ts';

/** What this process knows about ended sessions, revoked keys of programs, and removed signing keys. Requests check it in memory. */
export interface Revocations {
  isRevoked(caller: Caller): boolean;
  /** Calls back once, when the caller's token is revoked or if it already is. Call the result to stop. */
  watch(caller: Caller, onRevoked: () => void): () => void;
  /** Reads what was revoked before this call. Rejects if the database is unavailable. */
  read(): Promise<void>;
  close(): void;
}

/** Finds revocations without a signal: from a command on SQLite, or while signals are disconnected. */
const READ_EVERY_MS = 500;
/**
 * Ids are assigned before the commit, so a row can appear after rows with higher ids. What was first read within this
 * time is read again. No transaction takes longer.
 */
const REREAD_MS = 15_000;
const PAGE_SIZE = 1000;
/** The clocks of two servers may differ by this much. */
const CLOCK_MARGIN_SECONDS = 300;

/** A revocation is kept until the last access token of its session has expired. */
export const revocationKeptMs = (accessTtlSeconds: number) =>
  (accessTtlSeconds + CLOCK_MARGIN_SECONDS) * 1000;

interface RevocationParts {
  database: Database;
  keyring: Keyring;
  accessTtlSeconds: number;
  log: Logger;
  now: () => Date;
}

interface Row {
  id: number;
  session_id: string | null;
  user_id: number | null;
  revoked_at: string;
}

export async function openRevocations(parts: RevocationParts): Promise<Revocations> {
  const { database, keyring, accessTtlSeconds, log, now } = parts;
  /** The sessions that ended and the keys that were revoked, with the time until which we remember them. */
  const sessions = new Map<string, number>();
  /** When a session of this user last ended. Only for tokens from before an upgrade, which name no session. */
  const users = new Map<number, { revokedAt: number; until: number }>();
  const watchers = new Map<() => void, Caller>();

  /** All rows up to this id were read. */
  let readUpTo = 0;
  /** The rows above that were read, and when first. */
  const firstRead = new Map<number, number>();
  let reading: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failing = false;
  let closed = false;

  /** A read that has begun may miss the newest rows, so calls during it share the one after it. */
  function read(): Promise<void> {
    if (reading) {
      next ??= reading
        .catch(() => {})
        .then(() => {
          next = undefined;
          return read();
        });
      return next;
    }
    reading = withoutDeadline(readNew).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readNew(): Promise<void> {
    const startedAt = performance.now();
    try {
      let isNew = false;
      let keysChanged = false;
      for (let after = readUpTo; ; ) {
        const rows = await database.urgent.all<Row>(
          `select id, session_id, user_id, revoked_at from revocations where id > $1 order by id limit ${PAGE_SIZE}`,
          [after],
        );
        for (const row of rows) {
          if (firstRead.has(row.id)) continue;
          firstRead.set(row.id, startedAt);
          isNew = true;
          if (row.session_id === null || row.user_id === null) keysChanged = true;
          else remember(row.session_id, row.user_id, row.revoked_at);
        }
        if (rows.length < PAGE_SIZE) break;
        after = rows.at(-1)!.id;
      }
      for (const [id, at] of firstRead) {
        if (at > startedAt - REREAD_MS) continue;
        readUpTo = Math.max(readUpTo, id);
        firstRead.delete(id);
      }
      forgetExpired();
      if (keysChanged) await keyring.reload().finally(callWatchers);
      else if (isNew) callWatchers();
      failing = false;
    } catch (error) {
      // After a failover, PostgreSQL may assign lower ids again: read everything.
      readUpTo = 0;
      firstRead.clear();
      throw error;
    }
  }

  function remember(sessionId: string, userId: number, revokedAt: string): void {
    const until = now().getTime() + revocationKeptMs(accessTtlSeconds);
    sessions.set(sessionId, until);
    const latest = Math.max(Date.parse(revokedAt), users.get(userId)?.revokedAt ?? 0);
    // Deleted first, so that the oldest come first.
    users.delete(userId);
    users.set(userId, { revokedAt: latest, until });
  }

  function forgetExpired(): void {
    const time = now().getTime();
    // The oldest come first.
    for (const [id, until] of sessions) {
      if (until > time) break;
      sessions.delete(id);
    }
    for (const [id, { until }] of users) {
      if (until > time) break;
      users.delete(id);
    }
  }

  function isRevoked(caller: Caller): boolean {
    if (caller.kind === 'key') return sessions.has(revocationOf(caller.machineKeyId));
    const { sessionId, userId, issuedAtSeconds, keyId } = caller;
    if (!keyring.has(keyId)) return true;
    if (sessionId !== undefined) return sessions.has(sessionId);
    const revokedAt = users.get(userId)?.revokedAt;
    return revokedAt !== undefined && issuedAtSeconds * 1000 <= revokedAt;
  }

  function callWatchers(): void {
    for (const [onRevoked, caller] of watchers) {
      if (!isRevoked(caller)) continue;
      watchers.delete(onRevoked);
      onRevoked();
    }
  }

  const readOrRetry = () => {
    read().catch((err) => {
      // Once per outage: what is known stays in force.
      if (!failing && !closed) log.warn({ err }, 'cannot read revocations; will retry');
      failing = true;
    });
  };

  const unsubscribe = database.listen(REVOCATIONS, readOrRetry);
  const interval = setInterval(() => {
    if (!reading) readOrRetry();
  }, READ_EVERY_MS).unref();
  const close = () => {
    closed = true;
    unsubscribe();
    clearInterval(interval);
  };
  await read().catch((error) => {
    close();
    throw error;
  });

  return {
    isRevoked,
    watch(caller, onRevoked) {
      if (isRevoked(caller)) onRevoked();
      else watchers.set(onRevoked, caller);
      return () => watchers.delete(onRevoked);
    },
    read,
    close,
  };
}
