import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type ApiError, forbidden, rateLimited, requestTimeout } from '../../../errors.ts';
import { addressGroup } from '../../../http/address.ts';

/**
 * Everybody can call the webhook, and only its body shows who is Meta. So calls that are not signed correctly are
 * limited per address, and large bodies are read in turns. An address that has sent a correctly signed call waits only
 * for others that have too, because they have turns of their own. Small bodies never wait, so Meta's addresses are soon
 * known. Any other address waits for its turn, which slow callers cannot keep.
 */

const WINDOW_MS = 60_000;
const REFUSALS_MAX = 60;
/** Addresses remembered at a time. Above that, the one that was quiet for the longest time is dropped. */
const ADDRESSES_MAX = 10_000;
/** A smaller body costs hardly more than the request itself. */
const LARGE_BYTES = 64 * 1024;
/** For known addresses, and as many for the others. Together 48 MB at most. */
const LARGE_AT_ONCE = 8;
const WAITING_MAX = 20;
/** A large body must arrive in this time from the start of its turn. */
const ARRIVAL_MAX_MS = 2000;
/** The pause after each large body from an address that is over its limit. */
const PAUSE_MS = 1000;
/** Longer than a request may take to arrive. */
const TURN_MAX_MS = 15_000;

export interface Callers {
  /** Counts a call that is not signed correctly, and returns how to refuse it. */
  refusal(request: FastifyRequest): ApiError;
  /** A call is signed correctly: its address is known from now on. */
  accept(request: FastifyRequest): void;
  /** Resolves when the body may be read. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

export function createCallers(now: () => Date): Callers {
  const refused = new LRUCache<string, { count: number; endsAtMs: number }>({ max: ADDRESSES_MAX });
  const known = new LRUCache<string, true>({ max: ADDRESSES_MAX });
  const [turnsOfKnown, turnsOfOthers] = [createTurns(), createTurns()];

  function windowOf(address: string) {
    const atMs = now().getTime();
    const window = refused.get(address);
    return window && window.endsAtMs > atMs ? window : { count: 0, endsAtMs: atMs + WINDOW_MS };
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
    accept({ ip }) {
      known.set(addressGroup(ip), true);
    },
    admit({ ip, headers, raw: body }, { raw }) {
      // Without a length, the body may have any.
      if (Number(headers['content-length'] ?? LARGE_BYTES) < LARGE_BYTES) return Promise.resolve();
      const address = addressGroup(ip);
      const turns = known.has(address) ? turnsOfKnown : turnsOfOthers;
      if (turns.waitingOf(address) >= WAITING_MAX) return Promise.reject(rateLimited(1));
      // The client has gone while its token was checked: there will be no event that ends its turn.
      if (raw.closed || raw.destroyed || raw.socket?.destroyed) return Promise.reject(requestTimeout());
      return new Promise((resolve) => {
        let arrival: NodeJS.Timeout | undefined;
        const leave = turns.join(address, () => {
          arrival = setTimeout(() => body.complete || body.destroy(requestTimeout()), ARRIVAL_MAX_MS).unref();
          resolve();
        });
        const end = () => {
          clearTimeout(timer);
          clearTimeout(arrival);
          raw.off('close', end);
          if (arrival !== undefined && windowOf(address).count > REFUSALS_MAX) {
            setTimeout(leave, PAUSE_MS).unref();
          } else leave();
        };
        const timer = setTimeout(end, TURN_MAX_MS).unref();
        raw.once('close', end);
      });
    },
  };
}

interface Turns {
  waitingOf(address: string): number;
  /** Calls `start` when it is this address's turn. Returns how to end the turn, or to no longer wait for it. */
  join(address: string, start: () => void): () => void;
}

/** Each address has one turn at a time. An address that has had one waits behind those that have not. */
function createTurns(): Turns {
  const running = new Set<string>();
  /** The address whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>();

  function startNext(): void {
    for (const [address, starts] of waiting) {
      if (running.size >= LARGE_AT_ONCE) return;
      if (running.has(address)) continue;
      running.add(address);
      const start = starts.shift()!;
      waiting.delete(address);
      if (starts.length > 0) waiting.set(address, starts);
      start();
    }
  }

  return {
    waitingOf: (address) => waiting.get(address)?.length ?? 0,
    join(address, start) {
      const starts = waiting.get(address) ?? [];
      starts.push(start);
      waiting.set(address, starts);
      startNext();
      return () => {
        const place = waiting.get(address)?.indexOf(start) ?? -1;
        if (place === -1) running.delete(address);
        else waiting.get(address)!.splice(place, 1);
        if (waiting.get(address)?.length === 0) waiting.delete(address);
        startNext();
      };
    },
  };
}
