import { setImmediate as nextTick } from 'node:timers/promises';
import { withinDeadline, withoutDeadline } from './deadline.ts';

/** A larger statement would block the event loop, and its callers, longer than it saves. */
const BATCH_MAX = 16;
/** If the database is slow, callers must still get an answer in time. */
const SERIALIZE_MAX_MS = 200;
/** Other batches are reads of one statement, which waits for a connection and then for its result: see `openPostgres`. */
const READ_MAX_MS = 4500;

interface Batch<Item, Result> {
  items: Item[];
  results: Promise<readonly Result[]>;
}

/**
 * Runs `work` once for all items of one turn of the event loop, instead of once for each. `work` starts after the last
 * item was added, so no caller gets an outdated result. It returns a result for each item, in order. With `serialize` a
 * batch waits for the previous one, because both would write to the same rows.
 */
export function batchPerTick<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { serialize = false } = {},
): (item: Item) => Promise<Result> {
  let open: Batch<Item, Result> | undefined;
  let last: Promise<unknown> | undefined;
  const maxMs = serialize ? Number.POSITIVE_INFINITY : READ_MAX_MS;

  const begin = (): Batch<Item, Result> => {
    const before = last;
    const run = async () => {
      await nextTick();
      if (before) await endOf(before);
      if (open === batch) open = undefined;
      return work(batch.items);
    };
    const batch: Batch<Item, Result> = { items: [], results: run() };
    if (serialize) last = batch.results;
    return batch;
  };

  return async (item) => {
    open ??= withoutDeadline(begin);
    const { items, results } = open;
    const index = items.push(item) - 1;
    if (items.length === BATCH_MAX) open = undefined;
    return (await withinDeadline(results, maxMs))[index]!;
  };
}

/** Waits until `work` has ended, but not for long. */
export function endOf(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, SERIALIZE_MAX_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
