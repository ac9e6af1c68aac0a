import type { Channel } from '../channels/channel.ts';

/**
 * How many messages a worker sends at the same time. A channel gets a part of the slots only, and one that is slow
 * loses its part of the shared ones after half a second: whatever some channels do, others find a free slot by then.
 */
export interface Slots {
  /** For any channel. */
  free(): number;
  /** For this channel, and how many of these for campaigns: one stays free for a reply. */
  freeFor(channel: Channel): { max: number; campaignsMax: number };
  /** Gives the function that frees it. */
  hold(channel: Channel): () => void;
}

interface SlotLimits {
  total: number;
  perChannel: number;
}

/** Half of the second in which another merchant's message must leave. */
const SLOW_AFTER_MS = 500;
/** Slow ones included. */
const IN_FLIGHT_MAX = 512;

export function createSlots({ total, perChannel }: SlotLimits, onFree: () => void): Slots {
  const held = new Map<string, number>();
  let shared = 0;
  let inFlight = 0;

  const free = () => Math.max(0, Math.min(total - shared, IN_FLIGHT_MAX - inFlight));

  return {
    free,
    freeFor({ id, type }) {
      if (!type.isRemote) return { max: free(), campaignsMax: free() };
      const left = perChannel - (held.get(id) ?? 0);
      const max = Math.max(0, Math.min(left, free()));
      return { max, campaignsMax: perChannel > 1 ? Math.min(max, left - 1) : max };
    },
    hold({ id }) {
      shared += 1;
      inFlight += 1;
      held.set(id, (held.get(id) ?? 0) + 1);
      let isSlow = false;
      const slow = setTimeout(() => {
        isSlow = true;
        shared -= 1;
        onFree();
      }, SLOW_AFTER_MS);
      slow.unref();
      return () => {
        clearTimeout(slow);
        if (!isSlow) shared -= 1;
        inFlight -= 1;
        const rest = held.get(id)! - 1;
        if (rest > 0) held.set(id, rest);
        else held.delete(id);
        onFree();
      };
    },
  };
}
