import type { Channel } from '../channels/channel.ts';

/**
 * How many messages a worker sends at the same time. A channel gets only a part of the slots, and a slow call stops
 * counting as shared after half a second. So a slow channel delays the others by half a second at most. Events for
 * webhook endpoints get at most half of everything, so that the other half is free for messages to customers.
 */
export interface Slots {
  /** Free slots for any channel. */
  free(): number;
  /** Free slots for this channel, and how many of these for campaigns: one stays free for a reply. */
  freeFor(channel: Channel): { max: number; campaignsMax: number };
  /** Returns the function that frees it. */
  hold(channel: Channel): () => void;
}

interface SlotLimits {
  total: number;
  perChannel: number;
}

/** Half of the second within which another merchant's message must be sent. */
const SLOW_AFTER_MS = 500;
/** Including slow calls. */
const IN_FLIGHT_MAX = 512;

export function createSlots({ total, perChannel }: SlotLimits, onFree: () => void): Slots {
  const held = new Map<string, number>();
  const all = { shared: 0, inFlight: 0 };
  const events = { shared: 0, inFlight: 0 };
  const eventsTotal = Math.max(1, Math.floor(total / 2));

  const free = () => Math.max(0, Math.min(total - all.shared, IN_FLIGHT_MAX - all.inFlight));
  const freeForEvents = () =>
    Math.min(free(), eventsTotal - events.shared, IN_FLIGHT_MAX / 2 - events.inFlight);

  return {
    free,
    freeFor({ id, type }) {
      if (!type.isRemote) return { max: free(), campaignsMax: free() };
      const left = perChannel - (held.get(id) ?? 0);
      const max = Math.max(0, Math.min(left, type.sendsEvents ? freeForEvents() : free()));
      return { max, campaignsMax: perChannel > 1 ? Math.min(max, left - 1) : max };
    },
    hold({ id, type }) {
      const counts = type.sendsEvents ? [all, events] : [all];
      for (const count of counts) {
        count.shared += 1;
        count.inFlight += 1;
      }
      held.set(id, (held.get(id) ?? 0) + 1);
      let isSlow = false;
      const slow = setTimeout(() => {
        isSlow = true;
        for (const count of counts) count.shared -= 1;
        onFree();
      }, SLOW_AFTER_MS);
      slow.unref();
      return () => {
        clearTimeout(slow);
        for (const count of counts) {
          if (!isSlow) count.shared -= 1;
          count.inFlight -= 1;
        }
        const rest = held.get(id)! - 1;
        if (rest > 0) held.set(id, rest);
        else held.delete(id);
        onFree();
      };
    },
  };
}
