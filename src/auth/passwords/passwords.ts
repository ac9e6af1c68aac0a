import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { createFairSlots, type Requester } from '../../http/limits/fairSlots.ts';

/** Argon2id (2) as OWASP recommends: 19 MiB, two passes, one lane. */
const OPTIONS = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** A random digest: no password matches it, and comparing costs the same as for a real hash. */
const base64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
const NO_PASSWORD = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$${base64(16)}$${base64(32)}`;

/** At 35 ms each, the last of a full queue waits a few seconds. */
const QUEUE_MAX = 200;

/** The server itself, or a user who is already signed in. */
const TRUSTED: Requester = { group: '', isKnown: true };

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a stored hash it takes the same time and returns false. */
  matches(password: string, stored: string | undefined, requester?: Requester): Promise<boolean>;
}

/**
 * Hashing runs in Node's thread pool, which token checks and file access share, so at most `atOnce` run at a time. The
 * rest wait in a fair queue.
 */
export function createPasswords(atOnce: number): Passwords {
  const withSlot = createFairSlots(atOnce, QUEUE_MAX);
  return {
    hash: (password) => withSlot(TRUSTED, () => hash(password, OPTIONS)),
    matches: (password, stored, requester = TRUSTED) =>
      withSlot(requester, async () => {
        const isMatch = await verify(stored ?? NO_PASSWORD, password);
        return isMatch && stored !== undefined;
      }),
  };
}
