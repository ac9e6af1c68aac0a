import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { withinDeadline } from '../database/deadline.ts';
import { serviceUnavailable } from '../errors.ts';

/** Argon2id (2) as OWASP recommends: 19 MiB, two passes, one lane. */
const OPTIONS = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** A random digest: no password matches it, and comparing costs the same as for a real hash. */
const base64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
const NO_PASSWORD = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$${base64(16)}$${base64(32)}`;

/** At 35 ms each, the last of a full queue waits a few seconds. */
const QUEUE_MAX = 200;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a stored hash it takes the same time and returns false. */
  matches(password: string, stored: string | undefined): Promise<boolean>;
}

/**
 * Hashing runs in Node's thread pool, which token checks and file access share. At most `atOnce` run at a time, the
 * rest wait in a queue. When the queue is full, the server responds that it is busy.
 */
export function createPasswords(atOnce: number): Passwords {
  let running = 0;
  const queue: (() => void)[] = [];
  async function withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (running < atOnce) {
      running += 1;
    } else {
      if (queue.length >= QUEUE_MAX) throw serviceUnavailable();
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.push(resolve);
      // A caller whose request has used up its time leaves the queue, without a hash.
      await withinDeadline(promise, Number.POSITIVE_INFINITY).catch((error) => {
        queue.splice(queue.indexOf(resolve), 1);
        throw error;
      });
    }
    try {
      return await work();
    } finally {
      // The next one in the queue takes over the slot.
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return {
    hash: (password) => withSlot(() => hash(password, OPTIONS)),
    matches: (password, stored) =>
      withSlot(async () => {
        const isMatch = await verify(stored ?? NO_PASSWORD, password);
        return isMatch && stored !== undefined;
      }),
  };
}
