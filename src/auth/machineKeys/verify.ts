import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Scope } from '../../contract/machineKeys.ts';
import type { Database } from '../../database/database.ts';
import { withinDeadline, withoutDeadline } from '../../database/deadline.ts';
import { keyExpired, keyInvalid } from '../../errors.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { Machine } from '../tokens.ts';
import { hashOf, hasValidForm } from './format.ts';
import { findMachineKey, noteKeyUse } from './store.ts';

export interface MachineKeys {
  verify(key: string): Promise<Machine>;
  /** The caller of a key that was verified before, or undefined. */
  cached(key: string): Machine | undefined;
}

interface MachineKeyParts {
  database: Database;
  revocations: Pick<Revocations, 'isRevoked'>;
  /** Revocations are remembered for longer than this. After it, a key is looked up again. */
  accessTtlSeconds: number;
  log: Logger;
  now: () => Date;
}

const CACHED_MAX = 10_000;
const NOTE_USE_EVERY_MS = 60_000;

export function createMachineKeys(parts: MachineKeyParts): MachineKeys {
  const { database, revocations, accessTtlSeconds, log, now } = parts;
  const verified = new LRUCache<string, Machine>({ max: CACHED_MAX });
  const finding = new Map<string, Promise<Machine>>();
  const notedAtMs = new LRUCache<number, number>({ max: CACHED_MAX });

  /** In the background: no request waits for it. */
  function noteUse({ merchantId, machineKeyId }: Machine): void {
    const at = now();
    if (at.getTime() - (notedAtMs.get(machineKeyId) ?? 0) < NOTE_USE_EVERY_MS) return;
    notedAtMs.set(machineKeyId, at.getTime());
    withoutDeadline(() => noteKeyUse(database, merchantId, machineKeyId, at)).catch((err) => {
      notedAtMs.delete(machineKeyId);
      log.warn({ err, key_id: machineKeyId }, 'cannot store when a key was last used');
    });
  }

  async function find(key: string): Promise<Machine> {
    const row = await findMachineKey(database, hashOf(key));
    if (!row) throw keyInvalid();
    const nowMs = now().getTime();
    const expiresAtMs = row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at);
    if (expiresAtMs <= nowMs) throw keyExpired();
    const caller: Machine = {
      kind: 'key',
      callerId: `key:${row.id}`,
      merchantId: row.merchant_id,
      machineKeyId: row.id,
      name: row.name,
      scopes: new Set(row.scopes.split(' ') as Scope[]),
      expiresAt: row.expires_at,
      expiresAtSeconds: Math.floor(Math.min(expiresAtMs, nowMs + accessTtlSeconds * 1000) / 1000),
    };
    // It may have been revoked during the query.
    if (revocations.isRevoked(caller)) throw keyInvalid();
    verified.set(key, caller);
    noteUse(caller);
    return caller;
  }

  return {
    async verify(key) {
      if (!hasValidForm(key)) throw keyInvalid();
      // Many requests may come with a new key at the same time.
      let found = finding.get(key);
      if (!found) {
        found = withoutDeadline(() => find(key)).finally(() => finding.delete(key));
        finding.set(key, found);
      }
      return withinDeadline(found);
    },

    cached(key) {
      const caller = verified.get(key);
      if (!caller || caller.expiresAtSeconds * 1000 <= now().getTime() || revocations.isRevoked(caller)) {
        return undefined;
      }
      noteUse(caller);
      return caller;
    },
  };
}
