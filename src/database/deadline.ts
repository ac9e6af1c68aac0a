import { AsyncLocalStorage } from 'node:async_hooks';
import type { MerchantId } from '../contract/ids.ts';
import { DatabaseUnavailable } from './database.ts';

/** When a request must be answered. Everything that the request waits for shares this time. */
export interface Deadline {
  /** A time of `performance.now()`. Infinity once the answer is sent: what still runs then has its own time-outs. */
  endsAtMs: number;
  /** Whose request it is, once that is known: see `createShares`. */
  merchantId?: MerchantId | undefined;
}

/** Work outside requests (worker, commands, clean-up) has no deadline, only the time-out of each statement. */
const current = new AsyncLocalStorage<Deadline | undefined>();

export const runWithDeadline = <T>(deadline: Deadline, work: () => T): T => current.run(deadline, work);

/** For work that several requests share, or that outlives the request that starts it. */
export const withoutDeadline = <T>(work: () => T): T => current.run(undefined, work);

/** For an answer that is sent for longer: call it when the answer begins. */
export function liftDeadline(): void {
  const deadline = current.getStore();
  if (deadline) deadline.endsAtMs = Number.POSITIVE_INFINITY;
}

/** What is left of this request's time: Infinity outside requests. */
export function msLeft(): number {
  const deadline = current.getStore();
  return deadline ? deadline.endsAtMs - performance.now() : Number.POSITIVE_INFINITY;
}

/** Undefined outside requests. */
export const requestingMerchant = (): MerchantId | undefined => current.getStore()?.merchantId;

/** Says nothing about the database: the request waited too long for something. */
export class DeadlinePassed extends DatabaseUnavailable {
  constructor() {
    super('the request has used up its time');
  }
}

/** Throws unless more than this is left. */
export function assertTimeLeft(keptMs: number): void {
  if (msLeft() <= keptMs) throw new DeadlinePassed();
}

/**
 * Waits for `work` only as long as the request may. `maxMs` is how long the work can take by itself: while more than
 * that is left, it needs no timer. `onLate` gets a result that nobody waits for any more.
 */
export function withinDeadline<T>(
  work: Promise<T>,
  maxMs = Number.POSITIVE_INFINITY,
  onLate?: (result: T) => void,
): Promise<T> {
  const leftMs = msLeft();
  if (leftMs > maxMs || leftMs === Number.POSITIVE_INFINITY) return work;
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = setTimeout(
      () => {
        late = true;
        reject(new DeadlinePassed());
      },
      Math.max(1, Math.ceil(leftMs)),
    );
    work.then(
      (result) => {
        clearTimeout(timer);
        if (late) onLate?.(result);
        else resolve(result);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
