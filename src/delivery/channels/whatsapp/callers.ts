import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type ApiError, forbidden, rateLimited, requestTimeout } from '../../../errors.ts';
import { addressGroup } from '../../../http/address.ts';

/**
 * Everybody can call the webhook, and only its body shows who is Meta. So calls that are not signed correctly are
 * limited per address, and large bodies are read one at a time per address. A correctly signed call is never refused
 * because of others: at worst it waits for its turn.
 */

const WINDOW_MS = 60_000;
const REFUSALS_MAX = 60;
/** Addresses counted at a time. Above that, the one that was quiet for the longest time is dropped. */
const ADDRESSES_MAX = 10_000;
/** A smaller body costs hardly more than the request itself. */
const LARGE_BYTES = 64 * 1024;
/** Together 48 MB at most. */
const LARGE_AT_ONCE = 16;
const WAITING_MAX = 20;
/** The pause after each large body from an address that is over its limit. */
const PAUSE_MS = 1000;

/** Longer than a request may take to arrive. */
const TURN_MAX_MS = 15_000;

export interface Callers {
  /** Counts a call that is not signed correctly, and returns how to refuse it. */
  refusal(request: FastifyRequest): ApiError;
  /** Resolves when the body may be read. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

export function createCallers(now: () => Date): Callers {
  const refused = new LRUCache<string, { count: number; endsAtMs: number }>({ max: ADDRESSES_MAX });
  const reading = new Set<string>();
  let waiting: { address: string; start: () => void }[] = [];

  function windowOf(address: string) {
    const atMs = now().getTime();
    const window = refused.get(address);
    return window && window.endsAtMs > atMs ? window : { count: 0, endsAtMs: atMs + WINDOW_MS };
  }

  function startNext(): void {
    waiting = waiting.filter(({ address, start }) => {
      if (reading.size >= LARGE_AT_ONCE || reading.has(address)) return true;
      reading.add(address);
      start();
      return false;
    });
  }

  function release(address: string): void {
    const free = () => {
      reading.delete(address);
      startNext();
    };
    if (windowOf(address).count > REFUSALS_MAX) setTimeout(free, PAUSE_MS).unref();
    else free();
  }

  return {
    refusal({ ip }) {
      const address = addressGroup(ip);
      const window = windowOf(address);
      window.count += 1;
      refused.set(address, window);
      if (window.count <= REFUSALS_MAX) return forbidden();
      return rateLimited(Math.max(1, Math.ceil((window.endsAtMs - now().getTime()) / 1000)));
    },
    admit({ ip, headers }, { raw }) {
      // Without a length, the body may have any.
      if (Number(headers['content-length'] ?? LARGE_BYTES) < LARGE_BYTES) return Promise.resolve();
      const address = addressGroup(ip);
      if (waiting.filter((other) => other.address === address).length >= WAITING_MAX) {
        return Promise.reject(rateLimited(1));
      }
      // The client has gone while its token was checked: there will be no event that ends its turn.
      if (raw.closed || raw.destroyed || raw.socket?.destroyed) return Promise.reject(requestTimeout());
      return new Promise((resolve) => {
        const entry = { address, start: resolve };
        waiting.push(entry);
        const end = () => {
          clearTimeout(timer);
          raw.off('close', end);
          const place = waiting.indexOf(entry);
          if (place === -1) release(address);
          else waiting.splice(place, 1);
        };
        const timer = setTimeout(end, TURN_MAX_MS).unref();
        raw.once('close', end);
        startNext();
      });
    },
  };
}
