/** Waiting work. `drop` is called instead of `start` if others need its place more. */
interface Waiting {
  start(): void;
  drop(): void;
}

export interface FairQueue {
  push(group: string, waiting: Waiting): void;
  shift(): Waiting | undefined;
}

/**
 * A queue with a turn for each group: a group that sends a thousand waits behind itself, not before the others. When the
 * queue is full, the longest group loses its newest.
 */
export function createFairQueue(max: number): FairQueue {
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
