import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { serviceUnavailable } from '../errors.ts';

/** Argon2id (2) as OWASP recommends it: 19 MiB, two passes, one lane. */
const OPTIONS = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** A hash that costs as much to compare as any, and that no password has: its digest is random. */
const base64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
const NO_PASSWORD = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$${base64(16)}$${base64(32)}`;

/** At 35 ms each, those at the end of a full line have waited for some seconds. */
const WAITING_MAX = 200;

export const PASSWORD_LENGTH_MIN = 8;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** With no hash to compare with, takes the same time and says no. */
  matches(password: string, stored: string | undefined): Promise<boolean>;
}

/**
 * Hashing runs in Node's thread pool, which token checks and files share: no more than `atOnce` at a time,
 * the rest wait here, and past a full line the server says that it is busy.
 */
export function createPasswords(atOnce: number): Passwords {
  let running = 0;
  const waiting: (() => void)[] = [];
  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running < atOnce) {
      running += 1;
    } else {
      if (waiting.length >= WAITING_MAX) throw serviceUnavailable();
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      // The place goes straight to the next in line.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return {
    hash: (password) => inTurn(() => hash(password, OPTIONS)),
    matches: (password, stored) =>
      inTurn(async () => {
        const fits = await verify(stored ?? NO_PASSWORD, password);
        return fits && stored !== undefined;
      }),
  };
}
