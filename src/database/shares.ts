import type { MerchantId } from '../contract/ids.ts';

/** Whoever wants a connection: a merchant, or the service itself. */
type Owner = MerchantId | undefined;

interface Waiting {
  owner: Owner;
  begin: () => void;
}

/** Ends the use of a connection. */
export type Release = () => void;

/**
 * Shares the connections between merchants. The writes of one merchant wait for each other at its rows with versions, and
 * with all connections they would make everybody wait. So a merchant has at most half of them, and whoever has the
 * fewest gets the next.
 */
export function createShares(max: number) {
  const ofMerchantMax = Math.max(1, Math.floor(max / 2));
  const inUse = new Map<Owner, number>();
  const waiting: Waiting[] = [];
  let left = max;

  const usedBy = (owner: Owner) => inUse.get(owner) ?? 0;
  const mayBegin = (owner: Owner) => left > 0 && (owner === undefined || usedBy(owner) < ofMerchantMax);

  function begin(owner: Owner): Release {
    left -= 1;
    inUse.set(owner, usedBy(owner) + 1);
    return () => {
      left += 1;
      const used = usedBy(owner) - 1;
      if (used > 0) inUse.set(owner, used);
      else inUse.delete(owner);
      next()?.begin();
    };
  }

  /** Takes the one that waits longest of those whose owners have the fewest connections. */
  function next(): Waiting | undefined {
    let best = -1;
    for (const [index, { owner }] of waiting.entries()) {
      if (!mayBegin(owner)) continue;
      if (best < 0 || usedBy(owner) < usedBy(waiting[best]!.owner)) best = index;
      if (usedBy(owner) === 0) break;
    }
    return best < 0 ? undefined : waiting.splice(best, 1)[0];
  }

  return {
    /** Waits for a share, at most for `maxMs`: then it rejects with `late`. */
    take(owner: Owner, maxMs: number, late: () => Error): Promise<Release> | Release {
      if (waiting.length === 0 && mayBegin(owner)) return begin(owner);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(own), 1);
          reject(late());
        }, maxMs);
        const own: Waiting = {
          owner,
          begin: () => {
            clearTimeout(timer);
            resolve(begin(owner));
          },
        };
        waiting.push(own);
        // Others may wait only because their owners have enough.
        if (mayBegin(owner)) next()?.begin();
      });
    },
    get waiting() {
      return waiting.length;
    },
  };
}
