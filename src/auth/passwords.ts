import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { withinDeadline } from '../database/deadline.ts';
import { serviceUnavailable } from '../errors.ts';
import { createFairQueue } from './fairQueue.ts';

/** Argon2id (2) as OWASP recommends: 19 MiB, two passes, one lane. */
const OPTIONS = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** A random digest: no password matches it, and comparing costs the same as for a real hash. */
const base64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
const NO_PASSWORD = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$${base64(16)}$${base64(32)}`;

/** At 35 ms each, the last of a full queue waits a few seconds. */
const QUEUE_MAX = 200;

/** Who asks. Callers with the same address group share one turn in the queue. */
interface Asker {
  addressGroup: string;
  /** Somebody has signed in to this account from there before. */
  isKnown: boolean;
}

/** The server itself, or a user who is already signed in. */
const TRUSTED: Asker = { addressGroup: '', isKnown: true };

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a stored hash it takes the same time and returns false. */
  matches(password: string, stored: string | undefined, asker?: Asker): Promise<boolean>;
}

/**
 * Hashing runs in Node's thread pool, which token checks and file access share. At most `atOnce` run at a time, the
 * rest wait in a queue, with a turn for each address group. Known askers have a queue of their own and every second
 * slot, so that thousands of attacking addresses cannot keep them out. Whoever does not fit gets the response that the
 * server is busy.
 */
export function createPasswords(atOnce: number): Passwords {
  let running = 0;
  const known = createFairQueue(QUEUE_MAX);
  const unknown = createFairQueue(QUEUE_MAX);
  let isKnownNext = true;
  const nextWaiting = () => {
    const [first, second] = isKnownNext ? [known, unknown] : [unknown, known];
    isKnownNext = !isKnownNext;
    return first.shift() ?? second.shift();
  };

  const passSlot = () => {
    const next = nextWaiting();
    if (next) next.start();
    else running -= 1;
  };

  async function withSlot<T>({ addressGroup, isKnown }: Asker, work: () => Promise<T>): Promise<T> {
    if (running < atOnce) {
      running += 1;
    } else {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = { start: resolve, drop: () => reject(serviceUnavailable()) };
      (isKnown ? known : unknown).push(addressGroup, waiting);
      // A caller whose request has used up its time gets no hash: its slot goes to the next.
      await withinDeadline(promise, Number.POSITIVE_INFINITY, passSlot);
    }
    try {
      return await work();
    } finally {
      passSlot();
    }
  }

  return {
    hash: (password) => withSlot(TRUSTED, () => hash(password, OPTIONS)),
    matches: (password, stored, asker = TRUSTED) =>
      withSlot(asker, async () => {
        const isMatch = await verify(stored ?? NO_PASSWORD, password);
        return isMatch && stored !== undefined;
      }),
  };
}
