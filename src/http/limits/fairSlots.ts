import { withinDeadline } from '../../database/deadline.ts';
import { serviceUnavailable } from '../../errors.ts';

/** Waiting work. `drop` is called instead of `start` if others need its place more. */
interface Waiting {
  start(): void;
  drop(): void;
}

interface FairQueue {
  push(group: string, waiting: Waiting): void;
  shift(): Waiting | undefined;
}

/**
 * A queue with a turn for each group: a group that sends a thousand waits behind itself, not before the others. When the
 * queue is full, the longest group loses its newest.
 */
function createFairQueue(max: number): FairQueue {
  /** The group whose turn is next comes first. */
  const groups = new Map<string, Waiting[]>();
  let size = 0;

  function dropFromLongest(): void {
    let longest = '';
    let length = 0;
    for (const [group, waiting] of groups) {
      // Of equal ones the last: it arrived last, or had its turn last.
      if (waiting.length >= length) [longest, length] = [group, waiting.length];
    }
    const dropped = groups.get(longest)!.pop()!;
    if (length === 1) groups.delete(longest);
    size -= 1;
    dropped.drop();
  }

  return {
    push(group, waiting) {
      const own = groups.get(group);
      if (own) own.push(waiting);
      else groups.set(group, [waiting]);
      size += 1;
      if (size > max) dropFromLongest();
    },
    shift() {
      const first = groups.entries().next().value;
      if (!first) return undefined;
      const [group, waiting] = first;
      const next = waiting.shift()!;
      groups.delete(group);
      if (waiting.length > 0) groups.set(group, waiting);
      size -= 1;
      return next;
    },
  };
}

export interface Requester {
  /** All in a group, such as an address, share one turn. */
  group: string;
  /** Somebody has signed in to this account from there before. */
  isKnown: boolean;
}

type FairSlots = <T>(requester: Requester, work: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `atOnce` at a time; the rest wait, with a turn for each group. Known requesters have a queue of their
 * own and every second slot, so that thousands of attacking addresses cannot keep them out. Whoever does not fit into a
 * queue gets the response that the server is busy.
 */
export function createFairSlots(atOnce: number, queueMax: number): FairSlots {
  let running = 0;
  const known = createFairQueue(queueMax);
  const unknown = createFairQueue(queueMax);
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

  return async ({ group, isKnown }, work) => {
    if (running < atOnce) {
      running += 1;
    } else {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = { start: resolve, drop: () => reject(serviceUnavailable()) };
      (isKnown ? known : unknown).push(group, waiting);
      // A caller whose request has used up its time no longer waits: its slot goes to the next.
      await withinDeadline(promise, Number.POSITIVE_INFINITY, passSlot);
    }
    try {
      return await work();
    } finally {
      passSlot();
    }
  };
}
